# The commands of everyday work. `make help` lists them.
.DEFAULT_GOAL := help

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: ## show limits, breakers and hot rules on loopback traffic
	go run ./cmd/cordon demo

test: ## all tests of all modules
	go test work

short: ## every law once, in under a minute
	go test -short work

race: ## the tests under the race detector
	go test -race -short work

lint: ## gofmt, vet and staticcheck
	@test -z "$$(git ls-files '*.go' | xargs gofmt -l)" || (git ls-files '*.go' | xargs gofmt -l; exit 1)
	go vet work
	@mkdir -p bin && cd tools && GOWORK=off go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	@for m in . adapter/grpc cmd/cordon datasource/nacos examples extractor/protobuf; do (cd $$m && $(CURDIR)/bin/staticcheck ./...) || exit 1; done

bench: ## the benchmarks
	go test -run '^$$' -bench . ./bench/...

worlds: ## the table of isolation beside others, written into its guide (minutes)
	go run ./sim/compare -seeds 10 -first 101 -write docs/isolation.md

ratios: ## figures as ratios to the clock, beside their targets
	go run ./bench/ratios -check

docs: ## write what is generated into docs/
	go run ./internal/docgen

precommit: docs lint short ## what to run before every commit

soak: ## hours of fuzzing and stress, before a release
	FUZZTIME=20m .ci/run
	CORDON_SOAK=1 go test -timeout 6h ./sim/... ./isolation ./balance
	CORDON_SOAK=1 go test -race -count=20 -timeout 6h work

.PHONY: help demo test short race lint bench worlds ratios docs precommit soak
