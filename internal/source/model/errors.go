package model

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/store/redact"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

type complaint struct {
	Error json.RawMessage `json:"error"`
}

type complaintError struct {
	Message string `json:"message"`
	Param   string `json:"param"`
}

func parseComplaint(body []byte) complaintError {
	var outer complaint
	var inner complaintError
	if json.Unmarshal(body, &outer) != nil {
		return inner
	}
	if json.Unmarshal(outer.Error, &inner) != nil {
		_ = json.Unmarshal(outer.Error, &inner.Message)
	}
	return inner
}

func (c *Client) refused(answer *netguard.Response) *tool.Error {
	status := answer.StatusCode
	code, suggestion := tool.Unavailable,
		c.place("Try again later, or ask the user to check the endpoint in the model block")
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		code, suggestion = tool.PermissionDenied,
			c.place("The user sets the environment variable that key in the model block reads")
	case status == http.StatusNotFound:
		code, suggestion = tool.NotFound, c.place("The user corrects url or model in the model block")
	case status == http.StatusTooManyRequests:
		suggestion = "Wait, then try again."
		if after := answer.Header.Get("Retry-After"); after != "" {
			suggestion = "Try again after " + after + " (Retry-After)."
		}
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge ||
		status == http.StatusUnprocessableEntity:
		code, suggestion = tool.InvalidArgument, "Ask for less, or ask in another way."
	}
	why := ""
	// Some endpoints repeat the key.
	message := redact.New([]string{c.options.Key}).String(parseComplaint(answer.Body).Message)
	if message != "" {
		why = ": " + truncate.Shorten(strings.TrimSpace(message), 500)
	}
	return tool.Errorf(code, "%s refused the question to the model %q with status %d%s", c.host, c.options.Model,
		status, why).
		Suggest("%s", suggestion).With("status", status)
}
