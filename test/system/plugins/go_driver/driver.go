package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"example.org/nomad-driver-gonaps/wire"
)

// What an agent's configuration may say.
type settings struct {
	Greeting string            `msgpack:"greeting"`
	Sick     string            `msgpack:"sick"`   // Not healthy while this file is there.
	Away     string            `msgpack:"away"`   // It says that it is away while this file is there.
	Dozes    string            `msgpack:"dozes"`  // It looks for a task as long as this file is there.
	Slow     bool              `msgpack:"slow"`   // It looks around for two seconds, and starts nothing before.
	Refuse   string            `msgpack:"refuse"` // Why the configuration is refused.
	Most     *float64          `msgpack:"most"`
	Limits   map[string]any    `msgpack:"limits"`
	Labels   map[string]string `msgpack:"labels"`
}

type driver struct {
	log      hclog.Logger
	mutex    sync.Mutex
	settings settings
	tasks    map[string]*task
	events   chan *wire.DriverTaskEvent
	looked   atomic.Bool
}

func newDriver(log hclog.Logger) *driver {
	return &driver{log: log, tasks: map[string]*task{}, events: make(chan *wire.DriverTaskEvent, 100)}
}

func attr(name, kind string, required bool) *wire.Spec {
	return &wire.Spec{Block: &wire.Spec_Attr{Attr: &wire.Attr{Name: name, Type: kind, Required: required}}}
}

func object(parts map[string]*wire.Spec) *wire.Spec {
	return &wire.Spec{Block: &wire.Spec_Object{Object: &wire.Object{Attributes: parts}}}
}

func orElse(primary *wire.Spec, literal string) *wire.Spec {
	return &wire.Spec{Block: &wire.Spec_Default{Default: &wire.Default{Primary: primary,
		Default: &wire.Spec{Block: &wire.Spec_Literal{Literal: &wire.Literal{Value: literal}}}}}}
}

func (d *driver) pluginInfo(*wire.PluginInfoRequest) (*wire.PluginInfoResponse, error) {
	info := &wire.PluginInfoResponse{Type: wire.PluginType_DRIVER, PluginApiVersions: []string{"v0.1.0"}, PluginVersion: "1.2.3", Name: "gonaps"}
	switch *wrong {
	case "type":
		info.Type = wire.PluginType_DEVICE
	case "api":
		info.PluginApiVersions = []string{"v9.0.0"}
	}
	return info, nil
}

func (d *driver) configSchema(*wire.ConfigSchemaRequest) (*wire.ConfigSchemaResponse, error) {
	if *wrong == "schema" {
		return &wire.ConfigSchemaResponse{Spec: object(map[string]*wire.Spec{"odd": attr("odd", "list(", false)})}, nil
	}
	return &wire.ConfigSchemaResponse{Spec: object(map[string]*wire.Spec{
		"greeting": orElse(attr("greeting", "string", false), `"hello"`),
		"sick":     attr("sick", "string", false),
		"away":     attr("away", "string", false),
		"dozes":    attr("dozes", "string", false),
		"slow":     attr("slow", "bool", false),
		"refuse":   attr("refuse", "string", false),
		"most":     attr("most", "number", false),
		"labels":   {Block: &wire.Spec_BlockAttrs{BlockAttrs: &wire.BlockAttrs{Name: "labels", Type: "string"}}},
		"limits": {Block: &wire.Spec_BlockValue{BlockValue: &wire.Block{Name: "limits", Nested: object(map[string]*wire.Spec{
			"tasks": attr("tasks", "number", true),
		})}}},
	})}, nil
}

func (d *driver) setConfig(request *wire.SetConfigRequest) (*wire.SetConfigResponse, error) {
	made := settings{}
	if err := msgpack.Unmarshal(request.MsgpackConfig, &made); err != nil {
		return nil, fmt.Errorf("SetConfig failed: %v", err)
	}
	if made.Refuse != "" {
		return nil, fmt.Errorf("SetConfig failed: %s", made.Refuse)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.settings = made
	limits, _ := json.Marshal(made)
	d.log.Info("configured", "settings", string(limits), "api", request.PluginApiVersion, "ports", request.NomadConfig.Driver.ClientMinPort)
	return &wire.SetConfigResponse{}, nil
}

func (d *driver) taskConfigSchema(*wire.TaskConfigSchemaRequest) (*wire.TaskConfigSchemaResponse, error) {
	return &wire.TaskConfigSchemaResponse{Spec: object(map[string]*wire.Spec{
		"command":     attr("command", "string", true),
		"args":        attr("args", "list(string)", false),
		"number":      attr("number", "number", false),
		"labels":      attr("labels", "list(map(string))", false),
		"flag":        orElse(attr("flag", "bool", false), "true"),
		"start_error": attr("start_error", "string", false),
		"recoverable": attr("recoverable", "bool", false),
		"stats":       attr("stats", "string", false),
		"stubborn":    attr("stubborn", "bool", false),
		"part": {Block: &wire.Spec_BlockList{BlockList: &wire.BlockList{Name: "part", Nested: object(map[string]*wire.Spec{
			"name": attr("name", "string", true),
			"size": orElse(attr("size", "number", false), "1.5"),
		})}}},
	})}, nil
}

func (d *driver) capabilities(*wire.CapabilitiesRequest) (*wire.CapabilitiesResponse, error) {
	return &wire.CapabilitiesResponse{Capabilities: &wire.DriverCapabilities{SendSignals: true, Exec: true}}, nil
}

func (d *driver) fingerprint(ctx context.Context, _ *wire.FingerprintRequest, send func(*wire.FingerprintResponse) error) error {
	for {
		d.mutex.Lock()
		sick, slow := d.settings.Sick, d.settings.Slow
		d.mutex.Unlock()
		if slow && !d.looked.Load() {
			time.Sleep(2 * time.Second)
		}
		d.looked.Store(true)
		now := &wire.FingerprintResponse{Health: wire.FingerprintResponse_HEALTHY, HealthDescription: "naps well", Attributes: map[string]*wire.Attribute{
			"driver.gonaps":         {Value: &wire.Attribute_BoolVal{BoolVal: true}},
			"driver.gonaps.version": {Value: &wire.Attribute_StringVal{StringVal: "1.2.3"}},
			"driver.gonaps.memory":  {Value: &wire.Attribute_IntVal{IntVal: 7}, Unit: "GiB"},
		}}
		if isThere(sick) {
			now.Health, now.HealthDescription = wire.FingerprintResponse_UNHEALTHY, "it is sick"
		}
		if err := send(now); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (d *driver) taskEvents(ctx context.Context, _ *wire.TaskEventsRequest, send func(*wire.DriverTaskEvent) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-d.events:
			if err := send(event); err != nil {
				return err
			}
		}
	}
}

func (d *driver) find(id string) (*task, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if known := d.tasks[id]; known != nil {
		return known, nil
	}
	return nil, fmt.Errorf("task not found for given id")
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

// away is what a driver says whose engine is.
func (d *driver) away() error {
	d.mutex.Lock()
	path := d.settings.Away
	d.mutex.Unlock()
	if isThere(path) {
		return status.Error(codes.Unavailable, "it is out for a nap")
	}
	return nil
}

func (d *driver) startTask(request *wire.StartTaskRequest) (*wire.StartTaskResponse, error) {
	if !d.looked.Load() {
		panic("it starts a task, and has not looked around yet")
	}
	config := request.Task
	var wanted taskConfig
	if err := msgpack.Unmarshal(config.MsgpackDriverConfig, &wanted); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %v", err)
	}
	if wanted.StartError != "" {
		return nil, recoverable(9, wanted.StartError, wanted.Recoverable)
	}
	if *wrong == "handle" {
		return &wire.StartTaskResponse{}, nil
	}
	made, err := start(config, wanted)
	if err != nil {
		return nil, recoverable(9, err.Error(), true)
	}
	d.mutex.Lock()
	d.tasks[config.Id] = made
	greeting := d.settings.Greeting
	d.mutex.Unlock()
	d.events <- &wire.DriverTaskEvent{TaskId: config.Id, AllocId: config.AllocId, TaskName: config.Name,
		Timestamp: timestamppb.Now(), Message: greeting + " from the driver", Annotations: map[string]string{"pid": strconv.Itoa(made.pid)}}
	return &wire.StartTaskResponse{
		Handle:          &wire.TaskHandle{Version: 1, Config: config, State: wire.TaskState_RUNNING, DriverState: []byte(made.state())},
		NetworkOverride: &wire.NetworkOverride{Addr: "127.0.0.9", PortMap: map[string]int32{"http": 8080}},
	}, nil
}

func (d *driver) recoverTask(request *wire.RecoverTaskRequest) (*wire.RecoverTaskResponse, error) {
	d.mutex.Lock()
	dozes := d.settings.Dozes
	d.mutex.Unlock()
	for isThere(dozes) {
		time.Sleep(20 * time.Millisecond)
	}
	if err := d.away(); err != nil {
		return nil, err
	}
	config := request.Handle.Config
	var wanted taskConfig
	if err := msgpack.Unmarshal(config.MsgpackDriverConfig, &wanted); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %v", err)
	}
	made, err := find(config, wanted, string(request.Handle.DriverState))
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.tasks[config.Id] == nil {
		d.tasks[config.Id] = made
		d.log.Info("found a task again", "id", config.Id, "environment", len(config.Env))
	}
	return &wire.RecoverTaskResponse{}, nil
}

func (d *driver) waitTask(request *wire.WaitTaskRequest) (*wire.WaitTaskResponse, error) {
	if err := d.away(); err != nil {
		return nil, err
	}
	known, err := d.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	<-known.ended
	return &wire.WaitTaskResponse{Result: known.result}, nil
}

func (d *driver) stopTask(request *wire.StopTaskRequest) (*wire.StopTaskResponse, error) {
	known, err := d.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	if known.wanted.Stubborn {
		return nil, fmt.Errorf("it does not want to")
	}
	number := syscall.SIGTERM
	if request.Signal == "SIGINT" {
		number = syscall.SIGINT
	}
	known.kill(number)
	select {
	case <-known.ended:
	case <-time.After(request.Timeout.AsDuration()):
		known.kill(syscall.SIGKILL)
		<-known.ended
	}
	return &wire.StopTaskResponse{}, nil
}

func (d *driver) destroyTask(request *wire.DestroyTaskRequest) (*wire.DestroyTaskResponse, error) {
	if err := d.away(); err != nil {
		return nil, err
	}
	known, err := d.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	known.kill(syscall.SIGKILL)
	<-known.ended
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.tasks, request.TaskId)
	return &wire.DestroyTaskResponse{}, nil
}

func (d *driver) signalTask(request *wire.SignalTaskRequest) (*wire.SignalTaskResponse, error) {
	known, err := d.find(request.TaskId)
	if err != nil {
		return nil, err
	}
	numbers := map[string]syscall.Signal{"SIGUSR1": syscall.SIGUSR1, "SIGHUP": syscall.SIGHUP}
	number, is := numbers[request.Signal]
	if !is {
		return nil, fmt.Errorf("it knows no signal %q", request.Signal)
	}
	known.kill(number)
	return &wire.SignalTaskResponse{}, nil
}

func (d *driver) taskStats(ctx context.Context, request *wire.TaskStatsRequest, send func(*wire.TaskStatsResponse) error) error {
	known, err := d.find(request.TaskId)
	if err != nil {
		return err
	}
	if known.wanted.Stats == "never" {
		return recoverable(9, "it counts nothing", false)
	}
	for count := uint64(1); ; count++ {
		usage := &wire.TaskResourceUsage{
			Cpu:    &wire.CPUUsage{Percent: 12.5, TotalTicks: 250, MeasuredFields: []wire.CPUUsage_Fields{wire.CPUUsage_PERCENT, wire.CPUUsage_TOTAL_TICKS}},
			Memory: &wire.MemoryUsage{Rss: 4096 * count, MeasuredFields: []wire.MemoryUsage_Fields{wire.MemoryUsage_RSS}},
		}
		if err := send(&wire.TaskStatsResponse{Stats: &wire.TaskStats{Id: request.TaskId, Timestamp: timestamppb.Now(),
			AggResourceUsage: usage, ResourceUsageByPid: map[string]*wire.TaskResourceUsage{strconv.Itoa(known.pid): usage}}}); err != nil {
			return err
		}
		if known.wanted.Stats == "once" && count == 1 {
			return recoverable(9, "it has lost count", true)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-known.ended:
			return nil
		case <-time.After(request.CollectionInterval.AsDuration()):
		}
	}
}

// What a task was given, for the test to read.
func leaveConfig(config *wire.TaskConfig) error {
	var wanted map[string]any
	if err := msgpack.Unmarshal(config.MsgpackDriverConfig, &wanted); err != nil {
		return err
	}
	seen := map[string]any{"config": wanted, "user": config.User, "job": config.JobName, "namespace": config.Namespace,
		"group": config.TaskGroupName, "memory": config.Resources.LinuxResources.MemoryLimitBytes,
		"memory_mb": config.Resources.AllocatedResources.Memory.MemoryMb, "shares": config.Resources.LinuxResources.CpuShares,
		"ports": config.Resources.Ports, "mounts": config.Mounts, "dns": config.Dns, "node": config.NodeName, "id": config.Id,
		"meta": config.Env["NOMAD_META_COLOR"], "network": config.NetworkIsolationSpec}
	bytes, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	directory := filepath.Join(config.AllocDir, config.Name, "local")
	if strings.Contains(config.Name, "/") {
		return fmt.Errorf("a name of a task with a slash")
	}
	return os.WriteFile(filepath.Join(directory, "seen.json"), bytes, 0o644)
}
