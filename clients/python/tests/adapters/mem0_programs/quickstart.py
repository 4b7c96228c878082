"""Every call once: what a person says about films is added, found, changed, traced and deleted."""

from mem0 import Memory

m = Memory()
talk = [
    {"role": "user", "content": "I want to watch a film tonight. Any ideas?"},
    {"role": "assistant", "content": "How about a thriller? They can be quite gripping."},
    {"role": "user", "content": "I do not like thrillers. I love science fiction."},
    {"role": "assistant", "content": "Then I will suggest science fiction from now on."},
]
m.add(talk, user_id="alice", metadata={"category": "film_recommendations"})

everything = m.get_all(filters={"user_id": "alice"})["results"]
print("kept:", len(everything))

found = m.search("does she like thrillers?", filters={"user_id": "alice"})["results"]
best = found[0]
print("found:", best["memory"], best["metadata"])

one = m.get(best["id"])
print("the same:", one["memory"] == best["memory"])

m.update(memory_id=best["id"], text="I love science fiction and can stand thrillers by now.")
print("history:", [(row["event"], row["new_memory"]) for row in m.history(memory_id=best["id"])])

m.delete(memory_id=best["id"])
print("left:", len(m.get_all(filters={"user_id": "alice"})["results"]))
m.delete_all(user_id="alice")
print("then:", len(m.get_all(filters={"user_id": "alice"})["results"]))
m.reset()
