module github.com/cordon-go/cordon/examples

go 1.26.0

require (
	github.com/cordon-go/cordon v0.0.0
	github.com/cordon-go/cordon/adapter/grpc v0.0.0
	github.com/cordon-go/cordon/datasource/nacos v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/nacos-group/nacos-sdk-go/v2 v2.3.5 // indirect
	go.uber.org/atomic v1.7.0 // indirect
	go.uber.org/multierr v1.6.0 // indirect
	go.uber.org/zap v1.21.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	gopkg.in/natefinch/lumberjack.v2 v2.0.0 // indirect
)

replace github.com/cordon-go/cordon => ..

replace github.com/cordon-go/cordon/adapter/grpc => ../adapter/grpc

replace github.com/cordon-go/cordon/datasource/nacos => ../datasource/nacos

replace github.com/cordon-go/cordon/extractor/protobuf => ../extractor/protobuf
