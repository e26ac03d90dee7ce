#!/bin/bash
# Runs the scenarios, campaigns and protocols of a repository that has nothing else of brokerlab, for systems of continuous
# integration (docs/ci.md). `brokerlab` is on the PATH. Each of SCENARIOS, CAMPAIGNS and PROTOCOLS names files, separated by
# blanks. All are run, whatever the others end with; the exit code is the gravest of theirs.
set -euo pipefail
read -ra scenarios <<<"${SCENARIOS:-}"
read -ra campaigns <<<"${CAMPAIGNS:-}"
read -ra protocols <<<"${PROTOCOLS:-}"
runtime=${RUNTIME:-simulated}
results=${RESULTS:-brokerlab-results}
on_unjudged=${ON_UNJUDGED:-fail}

[ $((${#scenarios[@]} + ${#campaigns[@]} + ${#protocols[@]})) -gt 0 ] || {
    echo 'nothing to run: name files in SCENARIOS, CAMPAIGNS or PROTOCOLS' >&2
    exit 2
}
case $on_unjudged in
    fail | warn) ;;
    *) echo "ON_UNJUDGED=$on_unjudged: write fail or warn" >&2; exit 2 ;;
esac
mkdir -p "$results" 2>/dev/null && [ -w "$results" ] || {
    echo "RESULTS=$results: no directory that can be written; name another one" >&2
    exit 2
}
gravest=0
# rank CODE: 1 and what proves a defect come before what proves nothing.
rank() {
    case $1 in
        0) echo 0 ;;
        3) echo 1 ;;
        4) echo 2 ;;
        1) echo 4 ;;
        5) echo 5 ;;
        *) echo 3 ;;
    esac
}
run() {
    local status=0
    echo "+ brokerlab $*"
    brokerlab "$@" || status=$?
    if [ "$status" -eq 3 ] && [ "$on_unjudged" = warn ]; then
        echo 'not judged: this runner was too busy to tell' >&2
        status=0
    fi
    [ "$(rank "$status")" -le "$(rank "$gravest")" ] || gravest=$status
}
number=0
files() {
    number=$((number + 1))
    options=(--junit "$results/junit-$number.xml" --summary-md "$results/summary-$number.md")
}
for file in "${protocols[@]}"; do
    run protocol check "$file"
done
for file in "${scenarios[@]}"; do
    files
    run emulate "$file" --runtime "$runtime" --out "$results/runs" "${options[@]}"
done
for file in "${campaigns[@]}"; do
    files
    run campaign "$file" --runtime "$runtime" --fresh --out "$results/campaign-$number" "${options[@]}"
done
exit "$gravest"
