// Plays OpenCode to the plugin that is named first: a session with a subagent, a tool that fails, a compaction.
const { default: memsidecar } = await import(process.argv[2])
const plugin = await memsidecar.server({ directory: "/tmp/shop" })
await memsidecar.setup({}) // as OpenCode 1 does
const event = (type, properties) => plugin.event({ event: { type, properties } })
const say = async (sessionID, text) => {
  const parts = [{ id: "prt_1", sessionID, messageID: "m1", type: "text", text }]
  await plugin["chat.message"]({ sessionID }, { message: {}, parts })
  return parts.slice(1).map((p) => p.text).join("")
}
const failed = { sessionID: "main", messageID: "m2", type: "tool", tool: "bash", callID: "c1", state: { status: "error", input: { command: "make" }, error: "no rule" } }

await event("session.created", { info: { id: "main" } })
await event("session.created", { info: { id: "sub", parentID: "main" } })
const told = await say("main", process.argv[3])
await say("sub", "the task of a subagent")
await event("message.updated", { info: { id: "m2", role: "assistant", sessionID: "main" } })
await event("message.part.updated", { part: failed })
await event("message.part.updated", { part: failed })
await event("message.part.updated", { part: { sessionID: "main", messageID: "m2", type: "text", text: "Under" } })
await event("message.part.updated", { part: { sessionID: "main", messageID: "m2", type: "text", text: "Understood." } })
await event("session.idle", { sessionID: "main" })
// A command that fails is a tool that completed.
await plugin["tool.execute.after"]({ sessionID: "main", tool: "bash", callID: "c2", args: { command: "ls /x" } },
  { title: "ls", output: "ls: cannot access '/x': No such file or directory", metadata: { exit: 2 } })
const compacting = { context: [] }
await plugin["experimental.session.compacting"]({ sessionID: "main" }, compacting)
await event("session.deleted", { info: { id: "main" } })

// OpenCode 2: hooks on a context, and events of another shape.
const hooks = {}
const on = (name, f) => { hooks[name] = f }
const events = [{ type: "session.execution.succeeded", data: { sessionID: "second" } }]
await memsidecar.setup({ directory: "/tmp/shop", session: { hook: on }, tool: { hook: on }, event: { subscribe: () => events } })
await hooks.prompt({ sessionID: "second", prompt: { text: process.argv[3] } })
const request = { sessionID: "second", system: [], messages: [{ role: "user", content: [{ type: "text", text: process.argv[3] }] }] }
await hooks.context(request)
await hooks["execute.after"]({ sessionID: "second", tool: "bash", id: "c9", input: { command: "make" }, status: "completed",
  result: { output: "no rule", metadata: { exit: 2 } } })
console.log(JSON.stringify({ told, compacted: compacting.context.join(""), second: request.messages[0].content.slice(1).map((p) => p.text).join("") }))
