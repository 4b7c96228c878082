package memsidecar_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// rawDescriptor is the API's definition as protoc-gen-go writes it: string literals that are added up.
var rawDescriptor = regexp.MustCompile(`(?m)^const file_\w+_rawDesc = ""( \+\n\t".*")+$`)

// TestClientHasTheSameAPI compares the Go client's copy of the code for the API with ours. Only the import path in the
// descriptors may differ.
func TestClientHasTheSameAPI(t *testing.T) {
	const ours, theirs = "gen/memsidecar/v1", "clients/go/gen/memsidecar/v1"
	names := filesOf(t, ours)
	if len(names) < 15 {
		t.Fatalf("%s has only %d files", ours, len(names))
	}
	if copied := filesOf(t, theirs); !slices.Equal(names, copied) {
		t.Errorf("%s has %v,\n%s has %v: run clients/generate go", ours, names, theirs, copied)
	}
	for _, name := range names {
		source, definition := generated(t, filepath.Join(ours, name))
		copied, copiedDefinition := generated(t, filepath.Join(theirs, name))
		if source != copied || !proto.Equal(definition, copiedDefinition) {
			t.Errorf("%s differs in %s and %s: run make proto", name, ours, theirs)
		}
	}
}

// TestClientHasTheSamePeer compares the Go client's copy of the package that asks the kernel who is at the other end.
func TestClientHasTheSamePeer(t *testing.T) {
	const ours, theirs = "internal/rpc/unixsock/peer", "clients/go/internal/peer"
	names := filesOf(t, ours)
	if copied := filesOf(t, theirs); !slices.Equal(names, copied) {
		t.Errorf("%s has %v,\n%s has %v: run clients/generate go", ours, names, theirs, copied)
	}
	for _, name := range names {
		if !bytes.Equal(read(t, filepath.Join(ours, name)), read(t, filepath.Join(theirs, name))) {
			t.Errorf("%s differs in %s and %s: run clients/generate go", name, ours, theirs)
		}
	}
}

// generated is a file of generated code without its descriptor, and the descriptor without its import path.
func generated(t *testing.T, name string) (string, *descriptorpb.FileDescriptorProto) {
	t.Helper()
	text := string(read(t, name))
	if strings.HasSuffix(name, "_grpc.pb.go") {
		return text, nil // has no descriptor
	}
	literals := rawDescriptor.FindString(text)
	var raw strings.Builder
	for line := range strings.Lines(literals) {
		if literal := strings.TrimSuffix(strings.TrimSpace(line), " +"); strings.HasPrefix(literal, `"`) {
			piece, err := strconv.Unquote(literal)
			if err != nil {
				t.Fatalf("%s: %v in %s", name, err, literal)
			}
			raw.WriteString(piece)
		}
	}
	d := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal([]byte(raw.String()), d); err != nil || len(d.GetMessageType()) == 0 {
		t.Fatalf("%s has no descriptor that can be read: %v", name, err)
	}
	d.GetOptions().GoPackage = nil
	return strings.Replace(text, literals, "", 1), d
}

// filesOf lists a directory.
func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
