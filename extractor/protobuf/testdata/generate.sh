#!/usr/bin/env bash
# Generates the test messages anew, once for each API level. Needs protoc and protoc-gen-go.
set -euo pipefail
cd "$(dirname "$0")"
generate() { # package, level
  local dir
  dir=$(mktemp -d)
  sed "s/GOPACKAGE/$1/; s/PACKAGE/cordon.test.$1/" shop.proto >"$dir/$1.proto"
  mkdir -p "$1"
  protoc --proto_path="$dir" --go_out="$1" --go_opt="module=github.com/cordon-go/cordon/extractor/protobuf/testdata/$1" --go_opt="default_api_level=$2" "$1.proto"
  rm -r "$dir"
}
generate openapi API_OPEN
generate hybridapi API_HYBRID
generate opaqueapi API_OPAQUE
