#!/bin/sh
# How well measurements are predicted: collectives, then training steps.
#     validate.sh STEPCAST
# The tables are in STEPCAST_SHARED/truth, ../shared/truth or data/truth.
set -u
tables=$(mktemp)
trap 'rm -f "$tables"' EXIT
stepcast=$1
for folder in "${STEPCAST_SHARED:-../shared}/truth" data/truth; do
    [ -f "$folder/collectives.csv" ] && break
done
if [ ! -f "$folder/collectives.csv" ]; then
    echo "no tables of measurements: set STEPCAST_SHARED to the folder that has truth/collectives.csv" >&2
    exit 1
fi
echo "== collectives: $folder/collectives.csv"
"$stepcast" coll --validate "$folder/collectives.csv" || exit
[ -f "$folder/training_steps.csv" ] || exit 0
printf '\n== training steps: %s\n' "$folder/training_steps.csv"
"$stepcast" validate "$folder/training_steps.csv" -j "$(getconf _NPROCESSORS_ONLN)" \
    --markdown "$tables" --plot docs/validation.svg || exit
{
    echo "<!-- written by make validate; the text is docs/validation.intro.md, leave-one-out docs/validation.left-out.md -->"
    cat docs/validation.intro.md docs/validation.left-out.md
    printf '\n## Errors by source, GPU and size\n\n'
    cat "$tables"
} >docs/validation.md
echo "wrote docs/validation.md and docs/validation.svg"
