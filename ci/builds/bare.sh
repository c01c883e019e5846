#!/bin/bash
# Use an archive as a stranger would, on a system with nothing else: version, then one completion over HTTP.
# Usage: bare.sh FOLDER TOKEN COUNT; the model is /job/model.gguf. Lines that begin with "::" are answers.
set -u
cd "/job/$1" || exit 1
./llama-server --version 2>&1 | sed 's/^/::version /'

./llama-server -m /job/model.gguf --host 127.0.0.1 --port 8080 -c 512 -np 1 --no-webui >/tmp/server.log 2>&1 &
server=$!

# ask METHOD PATH BODY: one HTTP exchange over bash's own sockets; there is no other client on a bare system
ask() {
    exec 3<>/dev/tcp/127.0.0.1/8080 || return 1
    printf '%s %s HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' "$1" "$2" "${#3}" "$3" >&3
    cat <&3
    exec 3>&-
}

for _ in $(seq 300); do
    kill -0 "$server" 2>/dev/null || break
    case "$(ask GET /health '' 2>/dev/null)" in *" 200 "*) ready=yes; break ;; esac
    sleep 0.2
done
if [ "${ready:-no}" != yes ]; then
    sed 's/^/::log /' /tmp/server.log | tail -20
    exit 1
fi
ask POST /completion "{\"prompt\": [$2], \"n_predict\": $3, \"temperature\": 0, \"return_tokens\": true}" |
    tr -d '\r' | tail -1 | sed 's/^/::reply /'
kill "$server"
