//go:build unix

package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// listenIn makes this test program listen on a socket, and end when its standard input does.
const listenIn = "MEMSIDECAR_TEST_LISTEN"

func TestMain(m *testing.M) {
	if path := os.Getenv(listenIn); path != "" {
		l, err := net.Listen("unix", path)
		if err != nil {
			panic(err)
		}
		_ = os.Chmod(path, 0o666)
		_, _ = os.Stdout.WriteString("x")
		_, _ = os.Stdin.Read(make([]byte, 1))
		_ = l.Close()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestMessages: what is written by hand is what the generated code reads, and the other way round.
func TestMessages(t *testing.T) {
	want := &pb.CommandServiceRunRequest{Arguments: []string{"hook", "", strings.Repeat("长", 100)},
		Environment: []string{"HOME=/home/mei"}, Directory: "/work", ParentPid: 1 << 20, Input: bytes.Repeat([]byte{0, 255}, 1000)}
	got := &pb.CommandServiceRunRequest{}
	err := proto.Unmarshal(encode(want.Arguments, want.Environment, want.Directory, int(want.ParentPid), want.Input), got)
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("request: %v\n%s", err, cmp.Diff(want.String(), got.String()))
	}
	for _, output := range []string{"", "{}\n", strings.Repeat("x", 70_000)} {
		message, err := proto.Marshal(&pb.CommandServiceRunResponse{Output: []byte(output)})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := decode(message); !ok || string(got) != output {
			t.Errorf("response of %d bytes: %d bytes, %v", len(output), len(got), ok)
		}
		if _, ok := decode(append(message, 2<<3, 1)); ok && output != "" {
			t.Error("a field that is not known was passed over")
		}
	}
}

// TestStranger: nothing is sent to a socket on which another user listens, unless that is root.
func TestStranger(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	dir, err := os.MkdirTemp("/tmp", "ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self := filepath.Join(dir, "self")
	if out, err := exec.Command("cp", os.Args[0], self).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(self, 0o755)); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]error{12345: errStranger, 0: nil} {
		path := filepath.Join(dir, "s"+string(rune('a'+uid%26)))
		cmd := exec.Command(self)
		cmd.Env = []string{listenIn + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 1))
		if _, err := dial(path); !errors.Is(err, want) {
			t.Errorf("uid %d: %v, want %v", uid, err, want)
		}
		_ = in.Close()
		_ = cmd.Wait()
	}
}

// TestExchangeGivesUp: a server that says nothing, nonsense, or that the call failed, is no answer.
func TestExchangeGivesUp(t *testing.T) {
	frame := func(kind, flags byte, stream uint32, payload string) string {
		return string(appendFrame(nil, kind, flags, stream, []byte(payload)))
	}
	for name, tt := range map[string]struct {
		says string
		want error
	}{
		"nothing":             {"", unix.EAGAIN},
		"settings only":       {frame(typeSettings, 0, 0, ""), unix.EAGAIN},
		"trailers":            {frame(typeHeaders, flagEndHeaders|flagEnd, 1, "x"), errRefused},
		"a reset":             {frame(typeReset, 0, 1, "abcd"), errRefused},
		"that it goes":        {frame(typeGoAway, 0, 0, "12345678"), errRefused},
		"half of a message":   {frame(typeData, 0, 1, "\x00\x00\x00\x00\x09abc"), unix.EAGAIN},
		"compressed":          {frame(typeData, 0, 1, "\x01\x00\x00\x00\x00"), errRefused},
		"a message too large": {frame(typeData, 0, 1, "\x00\xff\x00\x00\x00"), errRefused},
		"a frame too large":   {"\xff\xff\xff\x00\x00\x00\x00\x00\x01", errRefused},
		"HTTP/1":              {"HTTP/1.1 400 Bad Request\r\n\r\n", errRefused},
		"an answer":           {frame(typeData, 0, 1, "\x00\x00\x00\x00\x04\x0a\x02ok"), nil},
		"an answer in parts": {frame(typeHeaders, flagEndHeaders, 1, "x") + frame(typeData, 0, 1, "\x00\x00\x00") +
			frame(typeData, 0, 1, "\x00\x04\x0a\x02o") + frame(typeData, 0, 1, "k"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			if _, err := unix.Write(pair[1], []byte(tt.says)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			c := &conn{fd: pair[0], connLeft: firstWindow, streamLeft: firstWindow, streamWindow: firstWindow,
				deadline: func(bool, bool) time.Time { return began.Add(20 * time.Millisecond) }}
			got, err := c.exchange([]byte("request"))
			if !errors.Is(err, tt.want) || tt.want == nil && string(got) != "ok" {
				t.Errorf("%q, %v; want %v", got, err, tt.want)
			}
		})
	}
}

// TestLinksLittle: what makes a large program slow to start must not be linked.
func TestLinksLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, not := range []string{"net", "net/http", "regexp", "encoding/json", "google.golang.org/grpc",
		"google.golang.org/protobuf/proto", "github.com/spf13/cobra"} {
		if slices.Contains(deps, not) {
			t.Errorf("%s is linked", not)
		}
	}
}
