#!/bin/sh
# How well measurements are predicted: collectives, then training steps.
#     validate.sh STEPCAST
# The steps are in data/truth, the collectives in STEPCAST_SHARED/truth or ../shared/truth.
set -u
tables=$(mktemp)
trap 'rm -f "$tables"' EXIT
stepcast=$1
shared=${STEPCAST_SHARED:-../shared}/truth
if [ -f "$shared/collectives.csv" ]; then
    echo "== collectives: $shared/collectives.csv"
    "$stepcast" coll --validate "$shared/collectives.csv" || exit
fi
steps=data/truth/training_steps.csv
printf '\n== training steps: %s\n' "$steps"
"$stepcast" validate "$steps" -j "$(getconf _NPROCESSORS_ONLN)" \
    --markdown "$tables" --plot docs/validation.svg || exit
{
    echo "<!-- written by make validate; the text is docs/validation.intro.md, leave-one-out docs/validation.left-out.md -->"
    cat docs/validation.intro.md docs/validation.left-out.md
    printf '\n## Errors by source, GPU and size\n\n'
    cat "$tables"
} >docs/validation.md
echo "wrote docs/validation.md and docs/validation.svg"
