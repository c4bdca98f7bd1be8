package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/toolhost/toolhost/fleet/internal/gateway"
)

func exampleFile(name string) string {
	return filepath.Join("..", "..", "..", "examples", "fleet", name)
}

func known(t *testing.T, arguments []string) {
	t.Helper()
	root := new(app).root()
	command, rest, err := root.Find(arguments)
	require.NoError(t, err, arguments)
	assert.NotEqual(t, root, command, arguments)
	require.NoError(t, command.ParseFlags(rest), arguments)
	assert.Empty(t, command.Flags().Args(), arguments)
}

// strictly decodes a document and refuses unknown fields.
func strictly(t *testing.T, in *yaml.Decoder, out any) bool {
	t.Helper()
	in.KnownFields(true)
	err := in.Decode(out)
	if errors.Is(err, io.EOF) {
		return false
	}
	require.NoError(t, err)
	return true
}

func TestExampleConfig(t *testing.T) {
	data, err := os.ReadFile(exampleFile("fleet.hcl"))
	require.NoError(t, err)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef"), 0o600))
	file := filepath.Join(t.TempDir(), "fleet.hcl")
	text := strings.ReplaceAll(string(data), "/run/secrets/team-a.token", filepath.ToSlash(token))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c, err := gateway.Load(file)
	require.NoError(t, err)
	assert.True(t, c.NeedsToken())
}

// composeFile is what the example uses of the Compose specification.
type composeFile struct {
	Name     string
	Services map[string]struct {
		Image           string
		Build           struct{ Context, Dockerfile string }
		Command         []string
		Volumes         []string
		Secrets         []string
		Networks        []string
		Ports           []string
		Restart         string
		DependsOn       []string `yaml:"depends_on"`
		StopGracePeriod string   `yaml:"stop_grace_period"`
		Deploy          struct{ Replicas int }
	}
	Secrets  map[string]struct{ File string }
	Networks map[string]struct{ Internal bool }
}

// What the Compose file names exists: commands and flags, secrets, networks, services and files.
func TestExampleCompose(t *testing.T) {
	in, err := os.Open(exampleFile("compose.yaml"))
	require.NoError(t, err)
	defer in.Close()
	var c composeFile
	require.True(t, strictly(t, yaml.NewDecoder(in), &c))
	require.Len(t, c.Services, 3)
	for name, s := range c.Services {
		known(t, s.Command)
		assert.NotEmpty(t, s.Networks, name)
		for _, network := range s.Networks {
			assert.Contains(t, c.Networks, network)
		}
		for _, other := range s.DependsOn {
			assert.Contains(t, c.Services, other)
		}
		secrets := strings.Join(s.Command, " ")
		for _, secret := range s.Secrets {
			assert.Contains(t, c.Secrets, secret)
			secrets = strings.ReplaceAll(secrets, "/run/secrets/"+secret, "")
		}
		assert.NotContains(t, secrets, "/run/secrets/", "%s has no such secret", name)
		for _, volume := range s.Volumes {
			file, _, _ := strings.Cut(volume, ":")
			if file != "./hub" { // created by the hub
				assert.FileExists(t, exampleFile(file))
			}
		}
	}
	assert.FileExists(t,
		filepath.Join(exampleFile(c.Services["hub"].Build.Context), c.Services["hub"].Build.Dockerfile))
	assert.True(t, c.Networks["hub"].Internal)
}

type labels map[string]string

// podSpec is what the example uses of a pod.
type podSpec struct {
	AutomountServiceAccountToken  *bool          `yaml:"automountServiceAccountToken"`
	TerminationGracePeriodSeconds int            `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               map[string]any `yaml:"securityContext"`
	Containers                    []struct {
		Name, Image string
		Args        []string
		Env         []map[string]any
		Ports       []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		StartupProbe    *probe         `yaml:"startupProbe"`
		ReadinessProbe  *probe         `yaml:"readinessProbe"`
		LivenessProbe   *probe         `yaml:"livenessProbe"`
		SecurityContext map[string]any `yaml:"securityContext"`
		VolumeMounts    []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name   string
		Secret *struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
		}
		ConfigMap *struct{ Name string } `yaml:"configMap"`
		EmptyDir  *struct {
			SizeLimit string `yaml:"sizeLimit"`
		} `yaml:"emptyDir"`
	}
}

type probe struct {
	HTTPGet             *struct{ Path, Port string } `yaml:"httpGet"`
	TCPSocket           *struct{ Port string }       `yaml:"tcpSocket"`
	InitialDelaySeconds int                          `yaml:"initialDelaySeconds"`
	FailureThreshold    int                          `yaml:"failureThreshold"`
}

// manifest is what the example uses of Kubernetes' objects, all in one.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		// StatefulSet or Deployment.
		ServiceName         string `yaml:"serviceName"`
		Replicas            int
		PodManagementPolicy string `yaml:"podManagementPolicy"`
		Strategy            map[string]any
		Template            struct {
			Metadata struct{ Labels labels }
			Spec     podSpec
		}
		VolumeClaimTemplates []struct {
			Metadata struct{ Name string }
			Spec     map[string]any
		} `yaml:"volumeClaimTemplates"`
		Selector map[string]any
		// Service.
		ClusterIP                string `yaml:"clusterIP"`
		PublishNotReadyAddresses bool   `yaml:"publishNotReadyAddresses"`
		Ports                    []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		// PodDisruptionBudget.
		MaxUnavailable *int `yaml:"maxUnavailable"`
		MinAvailable   *int `yaml:"minAvailable"`
		// NetworkPolicy.
		PodSelector map[string]any   `yaml:"podSelector"`
		PolicyTypes []string         `yaml:"policyTypes"`
		Ingress     []map[string]any `yaml:"ingress"`
	}
}

// The manifests are consistent: selectors, ports, volumes, and what the programs
// know. Unknown fields fail; a cluster does not check them.
func TestExampleKubernetes(t *testing.T) {
	in, err := os.Open(exampleFile("fleet.yaml"))
	require.NoError(t, err)
	defer in.Close()
	pods := make(map[string]*podSpec)
	selected := make(map[string]int)
	kinds := make(map[string]int)
	for documents := yaml.NewDecoder(in); ; {
		var m manifest
		if !strictly(t, documents, &m) {
			break
		}
		kinds[m.APIVersion+" "+m.Kind]++
		app := m.Spec.Selector["app"]
		if match, ok := m.Spec.Selector["matchLabels"].(map[string]any); ok {
			app = match["app"]
		}
		if m.Kind == "NetworkPolicy" {
			continue
		}
		require.IsType(t, "", app, m.Kind)
		selected[app.(string)]++
		if m.Kind == "Deployment" || m.Kind == "StatefulSet" {
			assert.Equal(t, labels{"app": app.(string)}, m.Spec.Template.Metadata.Labels)
			pods[app.(string)] = &m.Spec.Template.Spec
			claims := make(map[string]bool)
			for _, claim := range m.Spec.VolumeClaimTemplates {
				claims[claim.Metadata.Name] = true
			}
			m.Spec.Template.Spec.check(t, claims)
		}
	}
	assert.Equal(t, map[string]int{"v1 Service": 2, "apps/v1 StatefulSet": 1, "apps/v1 Deployment": 2,
		"policy/v1 PodDisruptionBudget": 3, "networking.k8s.io/v1 NetworkPolicy": 1}, kinds)
	assert.Len(t, pods, 3)
	for app := range selected {
		assert.Contains(t, pods, app, "something selects pods that nothing makes")
	}
}

func (p *podSpec) check(t *testing.T, volumes map[string]bool) {
	t.Helper()
	require.Len(t, p.Containers, 1)
	for _, v := range p.Volumes {
		volumes[v.Name] = true
	}
	c := p.Containers[0]
	known(t, c.Args)
	mounted := strings.Join(c.Args, " ")
	for _, m := range c.VolumeMounts {
		assert.True(t, volumes[m.Name], "there is no volume %s", m.Name)
		mounted = strings.ReplaceAll(mounted, " "+m.MountPath, "")
	}
	assert.NotRegexp(t, ` /(run|etc|var|work)`, mounted, "a file is not mounted")
	ports := make(map[string]bool)
	for _, port := range c.Ports {
		ports[port.Name] = true
	}
	for _, probe := range []*probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		switch {
		case probe == nil:
		case probe.HTTPGet != nil:
			assert.True(t, ports[probe.HTTPGet.Port], probe.HTTPGet.Port)
			assert.Contains(t, []string{"/healthz", "/readyz"}, probe.HTTPGet.Path)
		default:
			require.NotNil(t, probe.TCPSocket)
			assert.True(t, ports[probe.TCPSocket.Port], probe.TCPSocket.Port)
		}
	}
	assert.Equal(t, true, p.SecurityContext["runAsNonRoot"])
	assert.Equal(t, false, c.SecurityContext["allowPrivilegeEscalation"])
}
