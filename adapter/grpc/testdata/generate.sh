#!/usr/bin/env bash
# Generates the test service anew. Needs protoc, protoc-gen-go and protoc-gen-go-grpc.
set -euo pipefail
cd "$(dirname "$0")"
protoc --go_out=shop --go_opt=paths=source_relative --go-grpc_out=shop --go-grpc_opt=paths=source_relative shop.proto
