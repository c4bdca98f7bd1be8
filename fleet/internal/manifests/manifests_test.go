// Package manifests_test has the examples of a fleet in containers read by the
// code that reads them where they are used: the API server's checks of what is
// created, the Compose specification's loader, and the linter of Dockerfiles.
package manifests_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	compose "github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
)

func example(t *testing.T, name string) string {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "fleet", name))
	require.NoError(t, err)
	return string(data)
}

// change is an error that is made in an example, to see that it is found.
type change struct{ old, new, says string }

func (c change) made(t *testing.T, text string) string {
	require.True(t, strings.Contains(text, c.old), "%q is not in it", c.old)
	return strings.Replace(text, c.old, c.new, 1)
}

// strategies are what the API server does with what is to be created.
var strategies = map[string]rest.RESTCreateStrategy{
	"Deployment":          deployment.Strategy,
	"NetworkPolicy":       networkpolicy.Strategy,
	"PodDisruptionBudget": poddisruptionbudget.Strategy,
	"Service":             service.Strategy,
	"StatefulSet":         statefulset.Strategy,
}

// create reads all documents and checks them as an API server does that is to
// create them. It returns the number of each kind.
func create(text string) (map[string]int, error) {
	scheme := legacyscheme.Scheme
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	in, kinds := yaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(text))), map[string]int{}
	for {
		document := make([]byte, len(text))
		n, err := in.Read(document)
		if errors.Is(err, io.EOF) {
			return kinds, nil
		}
		if err != nil {
			return nil, err
		}
		document = bytes.TrimSpace(document[:n])
		object, kind, err := strict.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		scheme.Default(object)
		hub, err := scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
		if err != nil {
			return nil, err
		}
		strategy, ok := strategies[kind.Kind]
		if !ok {
			return nil, errors.New("no strategy for " + kind.Kind)
		}
		about, err := meta.Accessor(hub)
		if err != nil {
			return nil, err
		}
		rest.FillObjectMetaSystemFields(about)
		if s, ok := hub.(*core.Service); ok { // addresses are allotted before the check
			s.Spec.ClusterIP = cmp.Or(s.Spec.ClusterIP, "10.0.0.1")
			s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
			s.Spec.IPFamilies = []core.IPFamily{core.IPv4Protocol}
		}
		ctx := request.WithRequestInfo(request.WithNamespace(request.NewContext(), "default"), &request.RequestInfo{
			IsResourceRequest: true, Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version})
		if err := rest.BeforeCreate(strategy, ctx, hub); err != nil {
			return nil, err
		}
		if warnings := strategy.WarningsOnCreate(ctx, hub); len(warnings) > 0 {
			return nil, errors.New(strings.Join(warnings, "\n"))
		}
		kinds[kind.Kind]++
	}
}

func TestKubernetes(t *testing.T) {
	text := example(t, "fleet.yaml")
	kinds, err := create(text)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{
		"Deployment": 2, "NetworkPolicy": 1, "PodDisruptionBudget": 3, "Service": 2, "StatefulSet": 1}, kinds)

	for name, c := range map[string]change{
		"an unknown field":                   {"replicas:", "replica:", `unknown field "spec.replica"`},
		"a selector that fits no template":   {"matchLabels: {", "matchLabels: {other: x, ", "selector"},
		"a name that may not be":             {"name: ", "name: NO_", "RFC 1123"},
		"a port without an end":              {"port: 4222", "port: 422200", "65535"},
		"a volume that nobody has mentioned": {"- {name: key, mountPath:", "- {name: keys, mountPath:", "Not found"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := create(c.made(t, text))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestCompose(t *testing.T) {
	load := func(text string) (*compose.Project, error) {
		return loader.LoadWithContext(t.Context(), compose.ConfigDetails{
			WorkingDir:  t.TempDir(),
			ConfigFiles: []compose.ConfigFile{{Filename: "compose.yaml", Content: []byte(text)}},
		})
	}
	text := example(t, "compose.yaml")
	project, err := load(text)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"hub", "worker", "gateway"}, project.ServiceNames())

	for name, c := range map[string]change{
		"an unknown field":            {"restart:", "restarts:", "restarts"},
		"a service that is not there": {"depends_on: [hub]", "depends_on: [hubs]", "hubs"},
		"a secret that is not there":  {"secrets: [worker.worker.nk]", "secrets: [other.nk]", "other.nk"},
		"a network that is not there": {"networks: [hub]", "networks: [hubs]", "hubs"},
		"a time that is none":         {"stop_grace_period: 60s", "stop_grace_period: 60q", "60q"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(c.made(t, text))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestDockerfile(t *testing.T) {
	check := func(text string) (stages int, err error) {
		parsed, err := parser.Parse(strings.NewReader(text))
		if err != nil {
			return 0, err
		}
		var found []error
		lint := linter.New(&linter.Config{Warn: func(rule, _, _, text string, _ []parser.Range) {
			found = append(found, errors.New(rule+": "+text))
		}})
		made, _, err := instructions.Parse(parsed.AST, lint)
		return len(made), errors.Join(append(found, err)...)
	}
	text := example(t, "Dockerfile")
	stages, err := check(text)
	require.NoError(t, err)
	assert.Equal(t, 2, stages)

	for name, c := range map[string]change{
		"an unknown instruction": {"USER", "USERS", "unknown instruction: USERS"},
		"a casing that changes":  {"FROM golang:1.26 AS", "FROM golang:1.26 as", "FromAsCasing"},
		"an unknown flag":        {"--from=build", "--form=build", "form"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := check(c.made(t, text))
			require.ErrorContains(t, err, c.says)
		})
	}
}
