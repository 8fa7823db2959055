module github.com/cordon-go/cordon/adapter/grpc/guard

go 1.26.0

require (
	github.com/cordon-go/cordon v0.0.0
	github.com/cordon-go/cordon/adapter/grpc v0.0.0
	google.golang.org/grpc v1.85.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/cordon-go/cordon => ../../..
	github.com/cordon-go/cordon/adapter/grpc => ..
	github.com/cordon-go/cordon/extractor/protobuf => ../../../extractor/protobuf
)
