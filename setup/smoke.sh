#!/bin/bash
# Runs the smoke test of docker-compose.yml on this tree's image, and removes everything however it ends.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
cd "$ROOT"

if docker compose version >/dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi
command -v "${compose[0]}" >/dev/null || fail "docker-compose is missing: run \`make base\`."
[ -x .venv/bin/python ] || fail "there is no Python environment yet: run \`make smoke\`, which makes it."
project=brokerlab-smoke-$$  # side by side with other smokes of this host
compose+=(--profile smoke --project-name "$project")

# The image is named explicitly, because an edit of the tree meanwhile would give another name.
BROKERLAB_IMAGE=$(.venv/bin/python -c '
import sys
from emulation.host.docker_host import ensure_image
from record.errors import UserError
try:
    print(ensure_image(print_line=lambda _: None).name)
except UserError as error:
    print(f"set-up: {error}", file=sys.stderr)
    sys.exit(error.exit_code)')
export BROKERLAB_IMAGE

# An interrupted docker-compose leaves creations to the daemon, which may come behind the first `down`.
down() {
    for _ in {1..10}; do
        if "${compose[@]}" down --volumes --remove-orphans --timeout 5 >>"$LOG" 2>&1 && [ -z "$(remaining)" ]; then
            return
        fi
        sleep 1
    done
    printf 'smoke: these containers and networks remain: %s\n' "$(remaining | xargs)" >&2
}
remaining() {
    docker ps --all --quiet --filter "label=com.docker.compose.project=$project"
    docker network ls --quiet --filter "label=com.docker.compose.project=$project"
}
trap down EXIT
trap 'exit 130' INT TERM

say "three brokers on a plain network, image $BROKERLAB_IMAGE"
status=0
"${compose[@]}" run --rm -T smoke 2> >(tee -a "$LOG" | grep -v -E '^ ?(Creating|Container|Network|\[\+\])|done$' >&2) || status=$?
if [ "$status" -ne 0 ]; then
    "${compose[@]}" logs --tail 20 b1 b2 b3 >&2
    printf 'smoke: failed with exit code %d\n' "$status" >&2
fi
exit "$status"
