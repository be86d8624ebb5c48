module example.org/nomad-driver-gonaps

go 1.24

require (
	github.com/hashicorp/go-hclog v1.6.3
	github.com/hashicorp/go-plugin v1.8.0
	github.com/vmihailenco/msgpack/v5 v5.4.1
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)
