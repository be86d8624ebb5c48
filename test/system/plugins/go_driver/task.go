package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"example.org/nomad-driver-gonaps/wire"
)

// What a job says.
type taskConfig struct {
	Command     string   `msgpack:"command"`
	Args        []string `msgpack:"args"`
	StartError  string   `msgpack:"start_error"`
	Recoverable bool     `msgpack:"recoverable"`
	Stats       string   `msgpack:"stats"`
	Stubborn    bool     `msgpack:"stubborn"`
}

type task struct {
	pid    int
	since  string // Of its start, so that its number alone is not believed.
	status string // A file that it leaves its exit status in.
	wanted taskConfig
	ended  chan struct{}
	result *wire.ExitResult
}

// When a process was started; empty: there is none.
func startOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if string(fields[0]) == "Z" {
		return ""
	}
	return string(fields[19])
}

func start(config *wire.TaskConfig, wanted taskConfig) (*task, error) {
	if err := leaveConfig(config); err != nil {
		return nil, err
	}
	made := &task{wanted: wanted, ended: make(chan struct{}), status: filepath.Join(config.AllocDir, config.Name, "status")}
	// Signals are for the command alone: this shell has to say how it ended.
	script := `trap : USR1 HUP TERM INT; sh -c "$1"; echo $? > "$2.new"; mv "$2.new" "$2"`
	command := exec.Command("/bin/sh", "-c", script, "gonap", wanted.Command, made.status)
	command.Dir = filepath.Join(config.AllocDir, config.Name)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for name, value := range config.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	for path, to := range map[string]*io.Writer{config.StdoutPath: &command.Stdout, config.StderrPath: &command.Stderr} {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		*to = file
	}
	if config.StderrPath == config.StdoutPath {
		command.Stderr = command.Stdout
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	made.pid = command.Process.Pid
	made.since = startOf(made.pid)
	go func() {
		command.Wait()
		made.end()
	}()
	return made, nil
}

func (t *task) state() string { return fmt.Sprintf("%d %s", t.pid, t.since) }

func find(config *wire.TaskConfig, wanted taskConfig, state string) (*task, error) {
	words := strings.Fields(state)
	if len(words) != 2 {
		return nil, fmt.Errorf("%q is no state of a task", state)
	}
	pid, err := strconv.Atoi(words[0])
	if err != nil {
		return nil, err
	}
	made := &task{pid: pid, since: words[1], wanted: wanted, ended: make(chan struct{}), status: filepath.Join(config.AllocDir, config.Name, "status")}
	_, err = os.Stat(made.status)
	if startOf(pid) != made.since && err != nil {
		return nil, fmt.Errorf("the process is gone")
	}
	go func() {
		for startOf(made.pid) == made.since {
			time.Sleep(50 * time.Millisecond)
		}
		made.end()
	}()
	return made, nil
}

func (t *task) end() {
	t.result = &wire.ExitResult{Signal: 9}
	if text, err := os.ReadFile(t.status); err == nil {
		code, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		t.result = &wire.ExitResult{ExitCode: int32(code)}
	}
	os.Remove(t.status)
	close(t.ended)
}

func (t *task) kill(number syscall.Signal) {
	if startOf(t.pid) == t.since {
		syscall.Kill(-t.pid, number)
	}
}

// A command beside a task. A terminal is none here: its output says what it was told of its size.
func (d *driver) exec(stream grpc.ServerStream) error {
	first := &wire.ExecTaskStreamingRequest{}
	if err := stream.RecvMsg(first); err != nil {
		return err
	}
	if first.Setup == nil {
		return errors.New("first message should always be setup")
	}
	known, err := d.find(first.Setup.TaskId)
	if err != nil {
		return err
	}
	command := exec.CommandContext(stream.Context(), first.Setup.Command[0], first.Setup.Command[1:]...)
	command.Env = append(os.Environ(), fmt.Sprintf("NAP=%d", known.pid))
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	problems, _ := command.StderrPipe()
	if err := command.Start(); err != nil {
		return err
	}
	sizes := make(chan *wire.ExecTaskStreamingRequest_TerminalSize, 8)
	go func() {
		for {
			message := &wire.ExecTaskStreamingRequest{}
			if stream.RecvMsg(message) != nil {
				return
			}
			if message.Stdin != nil {
				input.Write(message.Stdin.Data)
				if message.Stdin.Close {
					input.Close()
				}
			}
			if message.TtySize != nil {
				sizes <- message.TtySize
			}
		}
	}()
	parts := make(chan *wire.ExecTaskStreamingResponse)
	forward := func(from io.Reader, wrap func(*wire.ExecTaskStreamingIOOperation) *wire.ExecTaskStreamingResponse) {
		for {
			part := make([]byte, 100_000)
			count, err := from.Read(part)
			if count > 0 {
				parts <- wrap(&wire.ExecTaskStreamingIOOperation{Data: part[:count]})
			}
			if err != nil {
				parts <- wrap(&wire.ExecTaskStreamingIOOperation{Close: true})
				return
			}
		}
	}
	go forward(output, func(part *wire.ExecTaskStreamingIOOperation) *wire.ExecTaskStreamingResponse {
		return &wire.ExecTaskStreamingResponse{Stdout: part}
	})
	go forward(problems, func(part *wire.ExecTaskStreamingIOOperation) *wire.ExecTaskStreamingResponse {
		return &wire.ExecTaskStreamingResponse{Stderr: part}
	})
	if first.Setup.Tty {
		select {
		case size := <-sizes:
			text := fmt.Sprintf("terminal of %d rows, %d columns\n", size.Height, size.Width)
			stream.SendMsg(&wire.ExecTaskStreamingResponse{Stdout: &wire.ExecTaskStreamingIOOperation{Data: []byte(text)}})
		case <-time.After(5 * time.Second):
		}
	}
	for open := 2; open > 0; {
		part := <-parts
		if (part.Stdout != nil && part.Stdout.Close) || (part.Stderr != nil && part.Stderr.Close) {
			open--
		}
		if err := stream.SendMsg(part); err != nil {
			command.Process.Kill()
		}
	}
	command.Wait()
	return stream.SendMsg(&wire.ExecTaskStreamingResponse{Exited: true,
		Result: &wire.ExitResult{ExitCode: int32(command.ProcessState.ExitCode())}})
}
