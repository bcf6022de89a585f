#!/bin/sh
# Bundles the report page: web.sh OUT. Needs node and npm; the packages are
# fetched once, into web/node_modules, and the build works offline after that.
# Where that is not possible OUT is made empty, stepcast is built without the
# page, and --html says so.
out=$1
mkdir -p "$(dirname "$out")"

without_page() {
    echo "the report page is left out of this build: $1" >&2
    : >"$out"
    touch -t 200001010000 "$out" # so that the next build tries again
    exit 0
}

command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || without_page "node or npm is missing"
stamp=web/node_modules/.stepcast-lock
if ! cmp -s web/package-lock.json "$stamp"; then
    (cd web && npm ci --ignore-scripts --prefer-offline --fetch-retries=1 --fetch-timeout=30000 --no-audit --no-fund --loglevel=error >/dev/null) ||
        without_page "npm could not fetch its packages"
    cp web/package-lock.json "$stamp"
fi
node web/build.mjs "$out.tmp" && mv "$out.tmp" "$out"
