"""A support desk: an agent's cases of several customers, each conversation a run of its own."""

from mem0 import Memory


class SupportDesk:
    def __init__(self):
        self.memory = Memory()

    def handle(self, customer, ticket, text):
        context = self.memory.search(text, filters={"user_id": customer, "agent_id": "desk"})["results"]
        reply = f"I see {len(context)} earlier note(s) on this."
        exchange = [{"role": "user", "content": text}, {"role": "assistant", "content": reply}]
        self.memory.add(exchange, user_id=customer, agent_id="desk", run_id=ticket, metadata={"kind": "support"})
        return reply

    def close(self, ticket):
        self.memory.delete_all(run_id=ticket)


desk = SupportDesk()
print(desk.handle("carol", "t1", "My router drops the connection every evening."))
print(desk.handle("carol", "t2", "The router drops the connection again."))
print(desk.handle("dave", "t3", "The router drops the connection here too."))
desk.close("t1")
rest = desk.memory.get_all(filters={"agent_id": "desk", "kind": "support"})["results"]
print(sorted((m["user_id"], m["run_id"]) for m in rest))
