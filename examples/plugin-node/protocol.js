// The protocol toolhost.plugin.v1 for a plugin in Node: the handshake, the
// service, and one object for each call. See docs/PLUGIN_PROTOCOL.md.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const versions = [1, 2]; // of the protocol
const maxMessage = 64 << 20;

// ToolError is a failure that the caller can do something about.
class ToolError extends Error {
  constructor(code, message, suggestion = '') {
    super(message);
    this.code = code;
    this.suggestion = suggestion;
  }
}

const json = (value) => Buffer.from(JSON.stringify(value));

function wireError(err) {
  const code = err instanceof ToolError ? err.code : 'internal';
  return { code, message: Buffer.from(String(err.message ?? err)), suggestion: Buffer.from(err.suggestion ?? '') };
}

// Call is what a tool learns of its call, and the services of the host.
class Call {
  constructor(stream, start) {
    this.stream = stream;
    this.session = start.session;
    this.workspace = start.workspace;
    this.controller = new AbortController();
    this.signal = this.controller.signal; // aborted when the call is cancelled
    this.waiting = new Map();
    this.lastId = 0;
  }

  progress(message, done = 0, total = 0) {
    this.stream.write({ progress: { done, total, message: Buffer.from(message) } });
  }

  log(level, message, attributes) {
    this.stream.write({ log: { level, message: Buffer.from(message), attributes: attributes ? json(attributes) : undefined } });
  }

  // request asks the host and gives its answer.
  request(service) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.stream.write({ request: { id, ...service } });
    });
  }

  answered(response) {
    const { resolve, reject } = this.waiting.get(Number(response.id)) ?? {};
    this.waiting.delete(Number(response.id));
    if (!resolve) return;
    if (response.error) {
      reject(new ToolError(response.error.code, response.error.message?.toString() ?? '', response.error.suggestion?.toString()));
    } else {
      resolve(response);
    }
  }

  async get(scope, key) {
    const { state } = await this.request({ state: { scope, get: { key } } });
    return state?.value ?? null; // a Buffer, or null where there is none
  }

  // swap stores next (null deletes) if the value is still old (null: there is
  // none), and says whether it did.
  async swap(scope, key, old, next) {
    const swap = { key, ...(old && { old }), ...(next && { new: next }) };
    const { state } = await this.request({ state: { scope, swap } });
    return state.swapped === true;
  }

  emit(event, payload) {
    return this.request({ emit: { event, payload: json(payload) } });
  }
}

// implementation answers the service with the tools of a plugin.
function implementation(plugin) {
  const tools = new Map(plugin.tools.map((tool) => [tool.name, tool]));
  const description = {
    name: plugin.name,
    version: plugin.version,
    config_schema: plugin.configSchema ? json(plugin.configSchema) : undefined,
    services: plugin.services ?? [],
    tools: plugin.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      risk: tool.risk,
      permissions: tool.permissions ?? [],
      idempotent: tool.idempotent ?? false,
      parameters: json(tool.parameters),
      returns: tool.returns ? json(tool.returns) : undefined,
      examples: (tool.examples ?? []).map((params) => ({ params: json(params) })),
    })),
  };

  async function run(call, start) {
    const tool = tools.get(start.tool);
    if (!tool) throw new ToolError('not_found', `plugin ${plugin.name} has no tool ${JSON.stringify(start.tool)}`);
    let params;
    try {
      params = JSON.parse(start.params?.toString() ?? '');
    } catch (err) {
      throw new ToolError('invalid_argument', `the parameters are no JSON: ${err.message}`);
    }
    return tool.call(call, params ?? {});
  }

  return {
    Describe: (_, answer) => answer(null, { description }),

    Configure(request, answer) {
      try {
        plugin.configure?.(JSON.parse(request.request.config?.toString() || '{}'), request.request.workspace);
        answer(null, { description });
      } catch (err) {
        answer(null, { error: wireError(new ToolError('invalid_argument', err.message)) });
      }
    },

    Call(stream) {
      let call;
      const end = (message) => {
        if (stream.cancelled) return;
        stream.write(message);
        stream.end();
      };
      stream.on('error', () => call?.controller.abort());
      stream.on('cancelled', () => call?.controller.abort());
      stream.on('data', (message) => {
        if (message.start) {
          call = new Call(stream, message.start);
          run(call, message.start).then(
            (structured) => end({ result: { contents: [{ kind: 'text', text: json(structured) }], structured: json(structured) } }),
            (err) => end({ error: wireError(err) }),
          );
        } else if (message.cancel) {
          call?.controller.abort();
        } else if (message.response) {
          call?.answered(message.response);
        }
      });
    },
  };
}

// choose gives the newest version that the host offers and this code speaks,
// else the oldest, which the host then refuses with a clear error.
function choose(offered) {
  const common = offered.split(',').map(Number).filter((v) => versions.includes(v));
  return common.length > 0 ? Math.max(...common) : versions[0];
}

// serve runs a plugin until the host ends it.
function serve(plugin) {
  if (process.env.TOOLHOST_PLUGIN !== 'toolhost.plugin') {
    console.error(`${plugin.name} is a plugin of toolhost: name it in a plugin block of agent.hcl.`);
    process.exit(1);
  }
  console.log = console.error; // standard output belongs to the handshake
  process.on('SIGINT', () => {}); // a terminal's interrupt is for the host
  process.stdin.resume().on('end', () => process.exit(0)); // the host is gone

  const definition = loader.loadSync(path.join(__dirname, 'plugin.proto'), { keepCase: true, longs: Number, oneofs: true });
  const { Plugin } = grpc.loadPackageDefinition(definition).toolhost.plugin.v1;
  const server = new grpc.Server({ 'grpc.max_receive_message_length': maxMessage, 'grpc.max_send_message_length': maxMessage });
  server.addService(Plugin.service, implementation(plugin));

  const socket = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, 'plugin.sock');
  server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (err) => {
    if (err) {
      fs.writeSync(1, `toolhost-plugin-error|${JSON.stringify(err.message)}\n`);
      process.exit(1);
    }
    fs.writeSync(1, `1|${choose(process.env.PLUGIN_PROTOCOL_VERSIONS ?? '1')}|unix|${socket}|grpc\n`);
  });
}

module.exports = { serve, ToolError };
