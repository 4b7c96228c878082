// memsidecar: plugin for OpenCode. Written by "memsidecar install opencode"; "memsidecar uninstall opencode" removes it.
// It tells the memsidecar program what happens in a session and passes on what it answers. Nothing here can stop a session:
// whatever goes wrong is an empty answer.
import { spawn } from "node:child_process"

const [program, ...args] = ["memsidecar"]

function call(event, input) {
  return new Promise((resolve) => {
    let out = ""
    const done = () => {
      try { resolve(JSON.parse(out).context || "") } catch { resolve("") }
    }
    try {
      const child = spawn(program, ["hook", "--host", "opencode", event, ...args], { stdio: ["pipe", "pipe", "ignore"], timeout: 5000 })
      child.on("error", () => resolve(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (data) => { out += data })
      child.on("close", done)
      child.stdin.end(JSON.stringify(input))
    } catch { resolve("") }
  })
}

export const Memsidecar = async ({ directory }) => {
  const children = new Set() // sessions of subagents
  const contexts = new Map() // what a session is to be told with its first prompt
  const roles = new Map()    // of messages
  const replies = new Map()  // newest text of the agent, by session
  const failed = new Set()   // calls that were told of

  const text = (parts) => parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
  const base = (sessionID) => ({ sessionID, directory })

  const part = async (p) => {
    if (children.has(p.sessionID)) return
    if (p.type === "text" && roles.get(p.messageID) === "assistant") replies.set(p.sessionID, p.text)
    if (p.type === "tool" && p.state?.status === "error" && !failed.has(p.callID)) {
      failed.add(p.callID)
      await call("tool-failure", { ...base(p.sessionID), tool: p.tool, callID: p.callID, args: p.state.input, error: p.state.error })
    }
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      const id = event.properties?.sessionID ?? info?.id
      if (event.type === "session.created" && info?.parentID) { children.add(info.id); return }
      if (event.type === "message.updated") { if (info) roles.set(info.id, info.role); return }
      if (event.type === "message.part.updated") { await part(event.properties.part); return }
      if (!id || children.has(id)) return
      if (event.type === "session.created") contexts.set(id, call("session-start", { ...base(id), source: "startup" }))
      if (event.type === "session.idle") {
        const reply = replies.get(id)
        replies.delete(id)
        if (reply) await call("reply", { ...base(id), reply })
        await call("stop", base(id))
      }
      if (event.type === "session.deleted") await call("session-end", base(id))
    },
    "chat.message": async (input, output) => {
      if (children.has(input.sessionID)) return
      const context = await contexts.get(input.sessionID)
      contexts.delete(input.sessionID)
      const recalled = await call("prompt", { ...base(input.sessionID), prompt: text(output.parts) })
      const told = (context ?? "") + recalled
      const first = output.parts.find((p) => p.type === "text")
      if (told && first) {
        output.parts.push({ ...first, id: first.id + "m", text: told, synthetic: true })
      }
    },
    "experimental.session.compacting": async (input, output) => {
      const working = await call("pre-compact", base(input.sessionID))
      if (working && Array.isArray(output?.context)) output.context.push(working)
    },
  }
}
