#!/usr/bin/env bash
# The demo's task by hand: the same containers, agent runs, git steps and checks, in the same order.
# Usage: floor.sh IN WORK LABEL IMAGE SIDECAR CHECKOUT. IN holds a folder a job, as tests/bench/floor.py
# writes it; WORK is empty. Every container and volume has LABEL. Limits: decides nothing; the story is known.
set -euo pipefail
in=$1 work=$2 label=$3 image=$4 sidecar=$5 checkout=$6
fence=(--init --cap-drop ALL --security-opt no-new-privileges --label "$label")
job=(--network none --user 10001:10001 --memory 4g --cpus 2 --pids-limit 1024 --workdir /repo --entrypoint sh)

mark() { echo "$EPOCHREALTIME $1" >>"$work/marks"; }
volume() { echo "type=volume,src=$1,dst=$2,volume-label=$label"; }

# A clean clone of the work so far, and what the job runs, into a container that was not started.
fill() { # NAME JOB
    git clone --quiet "$work/repo" "$work/$2.stage/repo"
    cp -r "$in/$2/root/." "$work/$2.stage"
    cd "$work/$2.stage"
    # Of /home only the agent's own folder: an entry for those above would change whose they are.
    tar --create --owner=10001 --group=10001 repo hand $([ -d home ] && echo home/agent/.factory) |
        docker cp - "$1:/" >/dev/null
    cd "$work"
}

commands() { # JOB
    local name="$label-$1" code=0
    docker create --name "$name" "${fence[@]}" "${job[@]}" "$image" /hand/run.sh >/dev/null
    fill "$name" "$1"
    docker start --attach "$name" >"$work/$1.log" 2>&1 || code=$?
    docker rm "$name" >/dev/null
    echo "$code" >"$work/$1.code"
}

agent() { # JOB
    local name="$label-$1" code=0
    docker create --interactive --name "$name-proxy" "${fence[@]}" --memory 512m --pids-limit 64 \
        --read-only --tmpfs /tmp --mount "$(volume "$name-socket" /run/factory)" \
        --mount "$(volume "$name-ledger" /ledger)" "$sidecar" >/dev/null
    docker start --interactive "$name-proxy" <"$in/$1/sidecar.json" >"$work/$1.proxy" 2>&1 &
    docker create --name "$name" "${fence[@]}" "${job[@]}" \
        --mount "$(volume "$name-socket" /run/factory),readonly" "$image" /hand/run.sh >/dev/null
    fill "$name" "$1"
    docker start --attach "$name" >"$work/$1.log" 2>&1 || code=$?
    docker stop --time 3 "$name-proxy" >/dev/null
    mkdir "$work/$1"
    docker cp "$name:/hand/out" - | tar --extract --directory "$work/$1"
    docker cp "$name-proxy:/ledger" - | tar --extract --directory "$work/$1"
    docker rm "$name" "$name-proxy" >/dev/null
    docker volume rm "$name-socket" "$name-ledger" >/dev/null
    echo "$code" >"$work/$1.code"
}

cd "$work"
mark start
git clone --quiet "$checkout" "$work/repo"
base=$(git -C "$work/repo" rev-parse HEAD)
for folder in "$in"/*/; do
    step=$(basename "$folder")
    case $step in
    *-gate-*)
        # What lands is one commit on the base, with the task's file set to done.
        sed --in-place 's/^status: ready$/status: done/' "$work/repo"/tasks/001-*.md
        git -C "$work/repo" reset --quiet --soft "$base"
        git -C "$work/repo" commit --quiet --all --message "Carry rounded seconds"
        mark "git rebase"
        ;;
    esac
    case $step in
    *-coder-*)
        agent "$step"
        mark "agents $step"
        git -C "$work/repo" apply --index --whitespace=nowarn "$work/$step/out/diff.patch"
        git -C "$work/repo" commit --quiet --message "$step"
        mark "git $step"
        ;;
    *-reviewer-*)
        agent "$step"
        grep --quiet '"verdict"' "$work/$step/out/review.md"
        mark "agents $step"
        ;;
    *)
        commands "$step"
        mark "commands $step"
        ;;
    esac
done
git -C "$work/repo" push --quiet "$(git -C "$checkout" remote get-url origin)" HEAD:main
git -C "$checkout" fetch --quiet origin
git -C "$checkout" merge --quiet --ff-only origin/main
mark "git merge"
