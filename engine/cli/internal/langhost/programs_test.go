package langhost

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// shell starts a script that prints "started" and returns its answer to come.
func shell(t *testing.T, base *Base, script string) <-chan *pulumirpc.RunResponse {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan *pulumirpc.RunResponse, 1)
	go func() { answer <- base.RunProgram(cmd) }()
	if _, err := io.ReadFull(output, make([]byte, len("started"))); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestCancelEndsProgramsWithoutAnErrorOfTheirOwn(t *testing.T) {
	for _, script := range []string{"printf started; exec sleep 60", "trap '' TERM; printf started; exec sleep 60"} {
		base := &Base{}
		answer := shell(t, base, script)
		if _, err := base.Cancel(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if got := <-answer; !got.GetBail() || got.GetError() != "" {
			t.Errorf("%s: got %v", script, got)
		}
	}
}

func TestNoProgramStartsAfterCancel(t *testing.T) {
	base := &Base{}
	if _, err := base.Cancel(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("true")
	if got := base.RunProgram(cmd); !got.GetBail() || cmd.Process != nil {
		t.Errorf("got %v, process %v", got, cmd.Process)
	}
}

func TestEndsAreWorded(t *testing.T) {
	for script, want := range map[string]*pulumirpc.RunResponse{
		"exit 0":        {},
		"exit 32":       {Bail: true},
		"exit 7":        {Error: "program exited with non-zero exit code: 7"},
		"kill -KILL $$": {Error: "program exited unexpectedly: signal: killed"},
	} {
		got := (&Base{}).RunProgram(exec.Command("bash", "-c", script))
		if got.GetBail() != want.GetBail() || got.GetError() != want.GetError() {
			t.Errorf("%s: got %v, want %v", script, got, want)
		}
	}
	got := (&Base{}).RunProgram(exec.Command("/nowhere/to/be/found"))
	if !strings.HasPrefix(got.GetError(), "could not run the language executor: ") {
		t.Errorf("got %v", got)
	}
}
