package project

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// recordedCall returns a call's record, for clients that ask for a task of an earlier server.
func (p *Project) recordedCall(ctx context.Context, id string) (*mcpserve.Recorded, error) {
	detail, err := p.Recorder.Show(ctx, record.Filter{Request: id})
	if errors.Is(err, &tool.Error{Code: tool.NotFound}) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	call := &mcpserve.Recorded{State: mcpserve.RecordedEnded, Began: detail.Began, Ended: detail.Began,
		Session: detail.Session, Tool: detail.Tool}
	switch detail.Status {
	case record.StatusRunning:
		call.State, call.Ended = mcpserve.RecordedWorking, time.Now()
		return call, nil
	case record.StatusLost, record.StatusAsks: // the caller is gone, or it would know the task
		call.State = mcpserve.RecordedLost
		return call, nil
	}
	var facts struct {
		Seconds   float64         `json:"duration_sec"`
		Error     tool.Code       `json:"error"`
		Message   string          `json:"message"`
		Step      int             `json:"step"`
		Artifacts []tool.Artifact `json:"artifacts"`
		Files     []string        `json:"files_affected"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	data, err := json.Marshal(detail.Facts)
	if err == nil {
		err = json.Unmarshal(data, &facts)
	}
	if err == nil && len(detail.Result) > 0 {
		call.Result = new(tool.Result)
		err = json.Unmarshal(detail.Result, call.Result)
		call.Result.Artifacts, call.Result.FilesAffected = facts.Artifacts, facts.Files
		call.Result.Metadata, _ = exact.Object(facts.Metadata)
	}
	if err == nil && call.Result == nil && facts.Error == "" {
		facts.Error, facts.Message = tool.Internal, "the call ended well; the record does not have its result any more"
	}
	call.Error, call.Message, call.Step = facts.Error, facts.Message, facts.Step
	call.Ended = detail.Began.Add(time.Duration(facts.Seconds * float64(time.Second)))
	return call, err
}
