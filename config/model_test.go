package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestModel(t *testing.T) {
	cfg := full(t)
	m := *cfg.Model
	assert.Contains(t, m.Pos, base+"/agent.hcl:")
	m.Pos = ""
	assert.Equal(t, Model{
		URL: "https://models.example/v1", Name: "small", Key: "tok-secret", Headers: map[string]string{"X-Team": "a"},
		Private: true, Timeout: 90 * time.Second, MaxTokens: 2000,
	}, m)
	assert.Contains(t, cfg.Secrets, "tok-secret")
}

// A model on the own machine needs neither a key nor encryption.
func TestLocalModel(t *testing.T) {
	for _, host := range []string{"127.0.0.1:11434", "localhost:8080", "[::1]:80", "192.168.1.7"} {
		cfg := parse(t, "agent.hcl", `model {
			url   = "http://`+host+`/v1"
			model = "m"
		}`, LoadOptions{})
		assert.Equal(t, "m", cfg.Model.Name)
	}
}

// A key may be in a sensitive variable instead of the environment.
func TestModelKeyOfVariable(t *testing.T) {
	cfg := parse(t, "agent.hcl", `
		variable "key" { sensitive = true }
		model {
			url   = "https://models.example/v1"
			model = "m"
			key   = var.key
		}`, LoadOptions{Vars: map[string]string{"key": "sk-given"}})
	assert.Equal(t, "sk-given", cfg.Model.Key)
}
