"""A tutor that knows from one question to the next what its pupil has asked and struggles with."""

from mem0 import Memory

CONFIG = {"vector_store": {"provider": "qdrant", "config": {"host": "localhost", "port": 6333}}}


class Tutor:
    def __init__(self):
        self.memory = Memory.from_config(CONFIG)
        self.app_id = "tutor"

    def ask(self, question, user_id):
        related = self.memory.search(question, filters={"user_id": user_id}, top_k=2)["results"]
        self.memory.add(question, user_id=user_id, metadata={"app_id": self.app_id})
        return model(question, [m["memory"] for m in related])

    def questions(self, user_id):
        return [m["memory"] for m in self.memory.get_all(filters={"user_id": user_id, "app_id": self.app_id})["results"]]


def model(question, memories):
    """Stands for a call of a language model, which would be given the memories in its prompt."""
    return f"{question} (you said: {'; '.join(memories) or 'nothing yet'})"


tutor = Tutor()
print(tutor.ask("I am learning computer science and recursion confuses me.", "john"))
print(tutor.ask("Can you explain recursion again?", "john"))
print(tutor.ask("Can you explain recursion again?", "mary"))
print(sorted(tutor.questions("john")))
