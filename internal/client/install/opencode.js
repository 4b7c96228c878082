// memsidecar: plugin for OpenCode. Written by "memsidecar install opencode"; "memsidecar uninstall opencode" removes it.
// It tells the memsidecar program what happens in a session and passes on what it answers. Nothing here can stop a session:
// whatever goes wrong is an empty answer. OpenCode 1 calls "server", OpenCode 2 calls "setup".
import { spawn } from "node:child_process"

const [program, ...args] = ["memsidecar"]

// The process is a group of its own, so that it outlives a host that ends with the event it told of.
const running = new Set() // calls without an answer yet

function call(event, input) {
  const answer = new Promise((resolve) => {
    let out = ""
    const done = () => {
      try { resolve(JSON.parse(out).context || "") } catch { resolve("") }
    }
    try {
      const child = spawn(program, ["hook", "--host", "opencode", event, ...args], { stdio: ["pipe", "pipe", "ignore"], timeout: 5000, detached: true })
      child.on("error", () => resolve(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (data) => { out += data })
      child.on("close", done)
      child.stdin.end(JSON.stringify(input))
    } catch { resolve("") }
  })
  running.add(answer)
  return answer.finally(() => running.delete(answer))
}

// What both versions tell of a session, and the subagents that are left out.
function memory(directory) {
  const children = new Set()
  const done = new Set() // calls that were told of
  const base = (sessionID) => ({ sessionID, directory })
  return {
    children,
    start: (id) => call("session-start", { ...base(id), source: "startup" }),
    prompt: (id, prompt) => call("prompt", { ...base(id), prompt }),
    reply: (id, reply) => call("reply", { ...base(id), reply }),
    stop: (id) => call("stop", base(id)),
    compact: (id) => call("pre-compact", base(id)),
    end: (id) => call("session-end", base(id)),
    // A command that ended with another code than 0 is a tool that completed, to OpenCode.
    ended: async (id, tool, callID, input, output, exit) => {
      if (children.has(id) || done.has(callID)) return ""
      done.add(callID)
      return call("post-tool", { ...base(id), tool, callID, args: input, output, exit })
    },
    failed: async (id, tool, callID, input, error) => {
      if (children.has(id) || done.has(callID)) return ""
      done.add(callID)
      return call("tool-failure", { ...base(id), tool, callID, args: input, error })
    },
  }
}

const textOf = (v) => typeof v === "string" ? v : Array.isArray(v) ? v.map(textOf).filter(Boolean).join("\n")
  : v?.synthetic ? "" : v?.text ?? textOf(v?.output ?? v?.content ?? v?.parts ?? v?.message ?? "")

const server = async ({ directory }) => {
  const m = memory(directory)
  const contexts = new Map() // what a session is to be told with its first prompt
  const roles = new Map()    // of messages
  const replies = new Map()  // newest text of the agent, by session

  const part = async (p) => {
    if (m.children.has(p.sessionID)) return
    if (p.type === "text" && roles.get(p.messageID) === "assistant") replies.set(p.sessionID, p.text)
    if (p.type === "tool" && p.state?.status === "error") await m.failed(p.sessionID, p.tool, p.callID, p.state.input, p.state.error)
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      const id = event.properties?.sessionID ?? info?.id
      if (event.type === "session.created" && info?.parentID) { m.children.add(info.id); return }
      if (event.type === "message.updated") { if (info) roles.set(info.id, info.role); return }
      if (event.type === "message.part.updated") { await part(event.properties.part); return }
      if (!id || m.children.has(id)) return
      if (event.type === "session.created") contexts.set(id, m.start(id))
      if (event.type === "session.idle") {
        const reply = replies.get(id)
        replies.delete(id)
        if (reply) await m.reply(id, reply)
        await m.stop(id)
      }
      if (event.type === "session.deleted") await m.end(id)
    },
    "chat.message": async (input, output) => {
      if (m.children.has(input.sessionID)) return
      const context = await contexts.get(input.sessionID)
      contexts.delete(input.sessionID)
      const recalled = await m.prompt(input.sessionID, textOf(output.parts.filter((p) => p.type === "text")))
      const told = (context ?? "") + recalled
      const first = output.parts.find((p) => p.type === "text")
      if (told && first) {
        output.parts.push({ ...first, id: first.id + "m", text: told, synthetic: true })
      }
    },
    "tool.execute.after": async (input, output) => {
      const told = await m.ended(input.sessionID, input.tool, input.callID, input.args, output?.output, output?.metadata?.exit)
      if (told && typeof output?.output === "string") output.output += "\n\n" + told
    },
    dispose: async () => { await Promise.allSettled([...running]) }, // the host may end with the event it told of
    "experimental.session.compacting": async (input, output) => {
      const working = await m.compact(input.sessionID)
      if (working && Array.isArray(output?.context)) output.context.push(working)
    },
  }
}

// OpenCode 1 calls this too, with a context that lacks some of the hooks: then "server" does the work.
const setup = async (ctx) => {
  if (typeof ctx?.session?.hook !== "function" || typeof ctx?.tool?.hook !== "function" || typeof ctx?.event?.subscribe !== "function") return
  const m = memory(ctx.directory ?? ctx.location?.directory ?? process.cwd())
  const contexts = new Map() // by session, the same for each of its requests
  const recalled = new Map() // by session, for the requests of one prompt
  const never = (f) => async (e) => { try { await f(e) } catch {} } // a hook that throws would fail the operation
  const lastUser = (messages) => messages?.findLast?.((x) => x.role === "user" && Array.isArray(x.content))

  await ctx.session.hook("prompt", never(async (e) => {
    if (!contexts.has(e.sessionID)) contexts.set(e.sessionID, await m.start(e.sessionID))
    recalled.set(e.sessionID, await m.prompt(e.sessionID, textOf(e.prompt)))
  }))
  await ctx.session.hook("context", never((e) => {
    const told = (contexts.get(e.sessionID) ?? "") + (recalled.get(e.sessionID) ?? "")
    if (!told) return
    const last = lastUser(e.messages) // a change further up would cost the prompt cache
    if (last) last.content = [...last.content, { type: "text", text: told }]
    else e.system?.push?.({ type: "text", text: told })
  }))
  await ctx.session.hook("compaction", never(async (e) => {
    const working = await m.compact(e.sessionID)
    if (working) e.system?.push?.({ type: "text", text: working })
  }))
  await ctx.tool.hook("execute.after", never(async (e) => {
    if (e.status === "error") await m.failed(e.sessionID, e.tool, e.id, e.input, textOf(e.error))
    else await m.ended(e.sessionID, e.tool, e.id, e.input, textOf(e.result), e.result?.metadata?.exit)
  }))
  const events = ctx.event.subscribe()
  void (async () => {
    try {
      for await (const event of await events) {
        const id = event.data?.sessionID
        if (id && event.type?.startsWith("session.execution.") && event.type !== "session.execution.started") await m.stop(id)
        if (id && event.type === "session.deleted") await m.end(id)
      }
    } catch {}
  })()
}

export default { id: "memsidecar", server, setup }
