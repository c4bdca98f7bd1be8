package agentbench

import "encoding/json"

// returns is the schema of the envelope around the given schema of data.
func returns(data string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"request_id":{"type":"string"},` +
		`"tool":{"type":"string"},` +
		`"status":{"type":"string","enum":["success","error"]},` +
		`"started_at":{"type":"string","format":"date-time"},` +
		`"ended_at":{"type":"string","format":"date-time"},` +
		`"duration_sec":{"type":"number"},` +
		`"data":{"anyOf":[` + data + `,{"type":"null"}]},` +
		`"error":{"anyOf":[{"type":"object","properties":{"error_type":{"type":"string"},"message":{"type":"string"},"details":{"type":"object"}},"required":["error_type","message","details"]},{"type":"null"}]},` +
		`"exit_code":{"type":["integer","null"]},` +
		`"stdout_path":{"type":["string","null"]},` +
		`"stderr_path":{"type":["string","null"]}` +
		`},"required":["request_id","tool","status","started_at","ended_at","duration_sec","data","error","exit_code","stdout_path","stderr_path"]}`)
}
