# What the MCP conformance suite looks for in a server, said in agent.hcl. It
# is a tour of what tools, resources and prompts can be; .ci/conformance runs
# the suite against it.

locals {
  png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M/wHwAEBgIApD5fRAAAAABJRU5ErkJggg=="
  wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
}

# Two tools below touch this file, to have it read again.
sandbox { level = "off" }

plugin "conformance" { source = "./toolhost-plugin-conformance" }

# Contents.

tool "test_simple_text" {
  description = "Gives a text."
  risk        = "read_only"
  command { argv = ["printf", "%s", "This is a simple text response for testing."] }
}

tool "test_image_content" {
  description = "Gives an image."
  risk        = "read_only"
  command { argv = ["true"] }
  output {
    type = "image"
    mime = "image/png"
    data = local.png
  }
}

tool "test_audio_content" {
  description = "Gives a sound, which the command prints in base64."
  risk        = "read_only"
  command { argv = ["printf", "%s", local.wav] }
  output {
    type   = "audio"
    mime   = "audio/wav"
    base64 = true
  }
}

tool "test_embedded_resource" {
  description = "Gives a resource."
  risk        = "read_only"
  command { argv = ["printf", "%s", "This is an embedded resource content."] }
  output {
    type = "resource"
    uri  = "test://embedded-resource"
    mime = "text/plain"
  }
}

tool "test_multiple_content_types" {
  description = "Gives a text, an image and a resource."
  risk        = "read_only"
  command { argv = ["printf", "%s", "{\"test\":\"data\",\"value\":123}"] }
  output { text = "Multiple content types test:" }
  output {
    type = "image"
    mime = "image/png"
    data = local.png
  }
  output {
    type = "resource"
    uri  = "test://mixed-content-resource"
    mime = "application/json"
  }
}

tool "test_error_handling" {
  description = "Fails."
  risk        = "read_only"
  command { argv = ["sh", "-c", "echo This tool intentionally returns an error for testing >&2; exit 1"] }
}

tool "json_schema_2020_12_tool" {
  description   = "Takes parameters that only JSON Schema can describe."
  risk          = "read_only"
  params_schema = <<-JSON
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "type": "object",
      "$defs": {
        "address": {
          "$anchor": "addressDef",
          "type": "object",
          "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
        }
      },
      "properties": {
        "name": { "type": "string" },
        "address": { "$ref": "#/$defs/address" },
        "contactMethod": { "type": "string", "enum": ["phone", "email"] },
        "phone": { "type": "string" },
        "email": { "type": "string" }
      },
      "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
      "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
      "then": { "required": ["phone"] },
      "else": { "required": ["email"] },
      "additionalProperties": false
    }
  JSON
  command {
    argv  = ["cat"]
    stdin = param
  }
}

tool "test_x_mcp_header" {
  description   = "Takes a parameter that HTTP clients mirror in a header."
  risk          = "read_only"
  params_schema = <<-JSON
    {
      "type": "object",
      "properties": {
        "region": { "type": "string", "description": "Sent as Mcp-Param-Region too.", "x-mcp-header": "Region" },
        "level": { "type": "integer" }
      }
    }
  JSON
  command { argv = ["printf", "region=%s level=%s", "${param.region}", "${param.level}"] }
}

# Progress and log lines.

tool "test_tool_with_progress" {
  description = "Reports how far it is."
  risk        = "read_only"
  command {
    argv   = ["sh", "-c", "for n in 0 50 100; do echo \"::progress $n/100 at $n\" >&2; sleep 0.05; done; echo done"]
    report = "::"
  }
}

tool "test_tool_with_logging" {
  description = "Writes to the log."
  risk        = "read_only"
  command {
    argv   = ["sh", "-c", "for line in started 'processing data' completed; do echo \"::log info Tool $line\" >&2; sleep 0.05; done; echo done"]
    report = "::"
  }
}

tool "test_logging_tool" {
  description = "Writes one line to the log."
  risk        = "read_only"
  command {
    argv   = ["sh", "-c", "echo '::log info a line' >&2; echo done"]
    report = "::"
  }
}

# Questions.

tool "test_elicitation" {
  description = "Asks the user."
  risk        = "read_only"
  param "message" {}
  ask "user" {
    message = param.message
    field "username" { description = "Your preferred username" }
  }
  command { argv = ["printf", "User response: %s", ask.user.username] }
}

tool "test_elicitation_sep1034_defaults" {
  description = "Asks with a default for every type."
  risk        = "read_only"
  ask "profile" {
    message = "Please check your profile."
    field "name" { default = "John Doe" }
    field "age" {
      type    = integer
      default = 30
    }
    field "score" {
      type    = number
      default = 95.5
    }
    field "status" {
      enum    = ["active", "inactive", "pending"]
      default = "active"
    }
    field "verified" {
      type    = bool
      default = true
    }
  }
  command { argv = ["printf", "Elicitation completed: %s, %s", ask.profile.name, "${ask.profile.age}"] }
}

tool "test_elicitation_sep1330_enums" {
  description = "Asks with every kind of choice."
  risk        = "read_only"
  ask "choices" {
    message = "Please choose."
    form    = <<-JSON
      {
        "type": "object",
        "properties": {
          "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
          "titledSingle": {
            "type": "string",
            "oneOf": [
              { "const": "value1", "title": "First Option" },
              { "const": "value2", "title": "Second Option" },
              { "const": "value3", "title": "Third Option" }
            ]
          },
          "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
          },
          "untitledMulti": {
            "type": "array", "minItems": 1, "maxItems": 3,
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] }
          },
          "titledMulti": {
            "type": "array", "minItems": 1, "maxItems": 3,
            "items": {
              "anyOf": [
                { "const": "value1", "title": "First Choice" },
                { "const": "value2", "title": "Second Choice" },
                { "const": "value3", "title": "Third Choice" }
              ]
            }
          }
        }
      }
    JSON
  }
  command { argv = ["printf", "Elicitation completed: %s", ask.choices.untitledSingle] }
}

tool "test_streaming_elicitation" {
  description = "Asks in the middle of a stream."
  risk        = "read_only"
  ask "confirm" { message = "Go on?" }
  command { argv = ["printf", "%s", "went on"] }
}

tool "test_missing_capability" {
  description = "Needs the client's model."
  risk        = "read_only"
  ask "text" {
    model { prompt = "Say something." }
  }
  command { argv = ["printf", "%s", ask.text.text] }
}

tool "test_input_required_result_elicitation" {
  description = "Asks for a name."
  risk        = "read_only"
  ask "user_name" {
    message = "What is your name?"
    field "name" {}
  }
  command { argv = ["printf", "Hello, %s!", ask.user_name.name] }
}

tool "test_input_required_result_sampling" {
  description = "Asks the client's model."
  risk        = "read_only"
  ask "capital_question" {
    model {
      prompt     = "What is the capital of France?"
      max_tokens = 100
    }
  }
  command { argv = ["printf", "%s", ask.capital_question.text] }
}

tool "test_input_required_result_list_roots" {
  description = "Asks for the client's roots."
  risk        = "read_only"
  ask "client_roots" { roots = true }
  command { argv = ["printf", "Roots: %s", "${ask.client_roots.roots}"] }
}

tool "test_input_required_result_request_state" {
  description = "Asks, and gets its signed state back."
  risk        = "read_only"
  ask "confirm" {
    message = "Please confirm"
    field "ok" { type = bool }
  }
  command { argv = ["printf", "state-ok: %s", "${ask.confirm.ok}"] }
}

tool "test_input_required_result_tampered_state" {
  description = "Asks, and refuses a state that it did not sign."
  risk        = "read_only"
  ask "confirm" {
    message = "Please confirm"
    field "ok" { type = bool }
  }
  command { argv = ["printf", "state-ok: %s", "${ask.confirm.ok}"] }
}

tool "test_input_required_result_multiple_inputs" {
  description = "Asks the user, the model and the client at once."
  risk        = "read_only"
  ask "user_name" {
    message = "What is your name?"
    field "name" {}
  }
  ask "greeting" {
    model {
      prompt     = "Generate a greeting"
      max_tokens = 50
    }
  }
  ask "client_roots" { roots = true }
  command { argv = ["printf", "%s %s at %s", ask.greeting.text, ask.user_name.name, "${ask.client_roots.roots}"] }
}

tool "test_input_required_result_capabilities" {
  description = "Asks whom it can."
  risk        = "read_only"
  ask "user_name" {
    message  = "What is your name?"
    optional = true
    field "name" {}
  }
  ask "greeting" {
    optional = true
    model { prompt = "Generate a greeting" }
  }
  command { argv = ["printf", "%s", "done"] }
}

# Tasks.

tool "failing_job" {
  description = "Fails after a while. Its calls are made as tasks alone. Returns: nothing."
  risk        = "read_only"
  task        = "required"
  command { argv = ["sh", "-c", "sleep 1; echo the job failed >&2; exit 1"] }
}

# Changes of the lists.

tool "test_trigger_tool_change" {
  description = "Has agent.hcl read again."
  risk        = "safe_write"
  command { argv = ["touch", "agent.hcl"] }
}

tool "test_trigger_prompt_change" {
  description = "Has agent.hcl read again."
  risk        = "safe_write"
  command { argv = ["touch", "agent.hcl"] }
}

# Resources.

resource "static-text" {
  uri         = "test://static-text"
  description = "A text."
  mime        = "text/plain"
  text        = "This is the content of the static text resource."
}

resource "static-binary" {
  uri         = "test://static-binary"
  description = "An image."
  mime        = "image/png"
  data        = local.png
}

resource "template" {
  uri         = "test://template/{id}/data"
  description = "Data for an id."
  mime        = "application/json"
  param "id" { complete = ["123", "456"] }
  text = "{\"id\":\"${param.id}\",\"templateTest\":true,\"data\":\"Data for ID: ${param.id}\"}"
}

resource "watched-resource" {
  uri         = "test://watched-resource"
  description = "A file that is watched."
  mime        = "text/plain"
  file        = "watched.txt"
  watch       = true
}

# Prompts.

prompt "test_simple_prompt" {
  description = "A prompt without arguments."
  message { text = "This is a simple prompt for testing." }
}

prompt "test_prompt_with_arguments" {
  description = "A prompt with arguments."
  argument "arg1" {
    description = "First test argument"
    complete    = ["testValue1", "testValue2"]
  }
  argument "arg2" { description = "Second test argument" }
  message { text = "Prompt with arguments: arg1='${param.arg1}', arg2='${param.arg2}'" }
}

prompt "test_prompt_with_embedded_resource" {
  description = "A prompt that embeds a resource."
  argument "resourceUri" { description = "URI of the resource to embed" }
  message {
    type = "resource"
    uri  = param.resourceUri
    mime = "text/plain"
    text = "Embedded resource content for testing."
  }
  message { text = "Please process the embedded resource above." }
}

prompt "test_prompt_with_image" {
  description = "A prompt with an image."
  message {
    type = "image"
    mime = "image/png"
    data = local.png
  }
  message { text = "Please analyze the image above." }
}

prompt "test_input_required_result_prompt" {
  description = "A prompt that asks first."
  ask "user_context" {
    message = "Please provide context for the prompt"
    field "context" {}
  }
  message { text = "Context: ${ask.user_context.context}" }
}
