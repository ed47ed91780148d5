package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/structpb"

	"shadow/engine/cli/internal/langhost"
)

func TestPluginVersionsFollowPythonVersions(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3":       "1.2.3",
		"1.2":         "1.2.0",
		"1.2.3.4":     "1.2.3",
		"1.0.0a5":     "1.0.0-alpha.5",
		"1.0.0b1":     "1.0.0-beta.1",
		"1.0.0rc2":    "1.0.0-rc.2",
		"1.0.0.post1": "1.0.0+post1",
		"1.0.0.dev3":  "1.0.0+dev3",
		"2!1.0.0":     "",
		"unknown":     "",
	} {
		if got := semverOf(version); got != want {
			t.Errorf("semverOf(%q) = %q, want %q", version, got, want)
		}
	}
}

func info(t *testing.T, values map[string]any) *pulumirpc.ProgramInfo {
	t.Helper()
	settings, err := structpb.NewStruct(values)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	return &pulumirpc.ProgramInfo{RootDirectory: folder, ProgramDirectory: folder, EntryPoint: ".", Options: settings}
}

func TestWrongOptionsNameTheKeyTheValueAndTheChoices(t *testing.T) {
	for key, value := range map[string]any{"toolchain": "conda", "typechecker": "pyre", "virtualenv": true} {
		_, err := optionsOf(info(t, map[string]any{key: value}))
		if err == nil || !strings.Contains(err.Error(), "runtime.options."+key) {
			t.Errorf("%s=%v: got error %v", key, value, err)
		}
	}
}

func TestPluginsAreStartedByWhatTheirFolderHolds(t *testing.T) {
	plain := info(t, nil)
	folder := plain.ProgramDirectory
	request := &pulumirpc.RunPluginRequest{Info: plain, Args: []string{"127.0.0.1:1"}}
	if _, err := pluginArguments(request); err == nil || !strings.Contains(err.Error(), "pyproject.toml") {
		t.Errorf("an empty folder: got error %v", err)
	}
	write(t, filepath.Join(folder, "pyproject.toml"), "[project]\nname = \"some-dist\"\n")
	expect(t, request, "-u", "-m", "pulumi.run.plugin", "some-dist", "127.0.0.1:1")
	write(t, filepath.Join(folder, "__main__.py"), "")
	expect(t, request, "-u", folder, "127.0.0.1:1")
	request.Kind = "analyzer"
	expect(t, request, "-u", "-m", "pulumi.policy", "127.0.0.1:1", folder)
}

func TestRunPassesEverythingThatTheExecutorReads(t *testing.T) {
	h := &host{Base: &langhost.Base{}}
	h.Connect("127.0.0.1:2")
	got := h.arguments(&pulumirpc.RunRequest{
		Project: "p", Stack: "s", Pwd: "/w", DryRun: true, Parallel: 4, MonitorAddress: "127.0.0.1:1",
		Organization: "o", Args: []string{"x"}, Info: &pulumirpc.ProgramInfo{RootDirectory: "/r", EntryPoint: "main.py"},
	})
	want := strings.Fields("--monitor 127.0.0.1:1 --engine 127.0.0.1:2 --project p --root_directory /r --stack s " +
		"--pwd /w --dry_run true --parallel 4 --organization o main.py x")
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func expect(t *testing.T, request *pulumirpc.RunPluginRequest, want ...string) {
	t.Helper()
	got, err := pluginArguments(request)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
