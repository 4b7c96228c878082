// Plays OpenCode to the plugin that is named first: a session with a subagent, a tool that fails, a compaction.
const { Memsidecar } = await import(process.argv[2])
const plugin = await Memsidecar({ directory: "/tmp/shop" })
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
const compacting = { context: [] }
await plugin["experimental.session.compacting"]({ sessionID: "main" }, compacting)
await event("session.deleted", { info: { id: "main" } })
console.log(JSON.stringify({ told, compacted: compacting.context.join("") }))
