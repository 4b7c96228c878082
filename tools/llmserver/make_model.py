"""Writes a small language model in the GGUF format, for a llama.cpp server to run: make_model.py FILE

The model is a llama of one layer and some four million parameters, and knows nothing. Its weights are neither trained nor taken from
anywhere: they hold the tables below, laid out so that an ordinary forward pass reads them.

- After a piece of text comes one of those that the table FOLLOWS allows, with the odds given there. Embeddings are one-hot, so the output
  layer can be that table.
- What begins a reply also depends on what stands anywhere in the prompt (CUES). Three heads of attention look for that: the name of a field
  in a schema, a word in double brackets by which a test asks for bad behaviour, the sentence that asks for a better reply. The keys of such
  tokens outweigh all others by e to the 25th, at any distance, because they use the one pair of dimensions that positions hardly turn.
- The other heads and the feed-forward part have random weights, are computed like any, and add nothing.

So a server spends its time as with any model of this size, while what comes is known, whatever the length of the prompt. A schema that the
server enforces still decides: the table allows several ways to begin, and the grammar leaves one.

The same numbers come out everywhere: nothing depends on the machine but the last bits of logarithms.
"""

import sys

import gguf
import numpy as np

WIDTH, HEADS, FEED_FORWARD, CONTEXT, SEED = 768, 8, 512, 65536, 7
HEAD = WIDTH // HEADS
ROPE_BASE = 1e12
NEVER, MARGIN, LEVEL = -30.0, 12.0, 25.0  # logits: of what does not follow, of what a cue asks for; and a cue's score beside other tokens

# Three kinds of cues, by the name of what they lead to. Each kind has one head.
FORMS = {"probe": '"memsidecar_probe":', "colour": '"colour":', "reflect": '"history":', "decide": '"MERGE"', "days": '"days":'}
ORDERS = {"prose": "[[prose]]", "loop": "[[loop]]", "empty": "[[empty]]", "delete": "[[delete]]", "bytes": "[[中文]]"}
REPAIR = {"repair": "could not be used"}
CUES = [FORMS, ORDERS, REPAIR]

# How each reply begins.
STARTS = {
    "probe": '{"memsidecar_probe":"ready"',
    "colour": '{"colour":"',
    "reflect": '{"summary":"',
    "decide": '{"action":"UPDATE","target":1,"content":"The user flies with China Eastern, prefers morning flights"',
    "days": '{"days":[{"day":1,"summary":"',
    "prose": "I would rather talk about the weather",
    "loop": '{"summary":"over',
    "empty": '{"summary":""',
    "delete": '{"summary":"The user wants all gone."',
    "bytes": '{"colour":"天',
}

END = "</s>"
UPDATE = '{"action":"UPDATE","target":1,"category":"facts","title":"","content":"We use Postgres 16"'
ADD = '{"action":"ADD","target":0,"category":"'

# What follows what, and how often.
FOLLOWS = {
    STARTS["probe"]: {',"words_counted":4}': 1},
    ',"words_counted":4}': {END: 1},
    STARTS["colour"]: {"blue": 3, "grey": 1},
    "blue": {'"}': 1},
    "grey": {'"}': 1},
    '"}': {END: 1},
    STARTS["decide"]: {',"why":"It says more."}': 1},
    ',"why":"It says more."}': {END: 1},
    STARTS["days"]: {"The crane of the old harbour was repaired.": 1},
    "The crane of the old harbour was repaired.": {'"}]}': 1},
    '"}]}': {END: 1},
    STARTS["prose"]: {" than answer": 1},
    " than answer": {".": 1},
    ".": {END: 1},
    STARTS["loop"]: {" and over": 1},
    " and over": {" and over": 1},
    STARTS["empty"]: {',"history":"","items":[],"rules":[]}': 1},
    ',"history":"","items":[],"rules":[]}': {END: 1},
    STARTS["delete"]: {',"history":"","items":[{"action":"DELETE","target":1': 1},
    ',"history":"","items":[{"action":"DELETE","target":1': {',"category":"facts","title":"","content":"","salience":0.5,"why":""}],"rules":[]}': 1},
    ',"category":"facts","title":"","content":"","salience":0.5,"why":""}],"rules":[]}': {END: 1},
    # A character that comes in three parts.
    STARTS["bytes"]: {"<0xE8>": 1},
    "<0xE8>": {"<0x93>": 1},
    "<0x93>": {"<0x9D>": 1},
    "<0x9D>": {'"}': 1},
    # A reflection: the words vary, and how many memories it proposes.
    STARTS["reflect"]: {"The user spoke of": 2, "The session was about": 1},
    "The user spoke of": {" the database": 2, " small commits": 1, " the harbour": 1},
    "The session was about": {" the database": 2, " small commits": 1, " the harbour": 1},
    " the database": {", of": 1, ' at length.","history":"': 3},
    " small commits": {", of": 1, ' at length.","history":"': 3},
    " the harbour": {", of": 1, ' at length.","history":"': 3},
    ", of": {" the database": 1, " small commits": 1, " the harbour": 1},
    ' at length.","history":"': {"Agreed on what to do.": 2, "Nothing was decided.": 1},
    "Agreed on what to do.": {'","items":[': 1},
    "Nothing was decided.": {'","items":[': 1},
    '","items":[': {UPDATE: 1},
    UPDATE: {',"salience":0.': 1},
    ',"salience":0.': {"6": 1, "7": 2, "8": 1},
    "6": {',"why":"': 1},
    "7": {',"why":"': 1},
    "8": {',"why":"': 1},
    ',"why":"': {"It was changed.": 1, "It holds for all work.": 1},
    "It was changed.": {'"},': 1, '"}],"rules":[]}': 2},
    "It holds for all work.": {'"},': 1, '"}],"rules":[]}': 2},
    '"},': {ADD: 1},
    ADD: {"preferences": 1, "facts": 1, "general": 1},
    "preferences": {'","title":"","content":"': 1},
    "facts": {'","title":"","content":"': 1},
    "general": {'","title":"","content":"': 1},
    '","title":"","content":"': {"The user prefers small commits": 1, "The crane of the harbour lifts 40 tons": 1, "Releases are made on Thursdays": 1},
    "The user prefers small commits": {'"': 1},
    "The crane of the harbour lifts 40 tons": {'"': 1},
    "Releases are made on Thursdays": {'"': 1},
    '"': {',"salience":0.': 1},
    '"}],"rules":[]}': {END: 1},
}

# Pieces that only make prompts shorter; all else is read byte by byte.
COMMON = """ the| of| and| to| in| is| it| that| for| was| as| with| be| by| on| not| he| are| or| his| from| at| which| have| an| has| were| this| their
| one| been| will| would| who| what| when| there| can| more| if| no| out| so| said| its| about| than| into| them| only| other| new| some| could| time| these| two
| may| then| do| first| any| my| now| such| like| our| over| even| most| made| after| also| did| many| before| must| through| years| where| much| your| way| well
| down| should| because| each| just| those| how| too| good| very| make| world| still| own| see| work| long| here| get| both| between| life| being| under| never| day
| same| another| know| while| last| might| us| great| old| year| off| come| since| against| go| came| right| used| take| three| memory| memories| user| session
| agent| text| number| date| name| target| content| summary| items| rules| failure| action| category| error| file| tool| command| server| test| model| data
ing|tion|ment|er|ed|es|ly|al|en|an|in|on|re|at|or|it|is|ar|st|nd|th|he|ou|te|ti|le|se|nt|de|co|me|ro|li|ra|ri|io|el|la|ve|ce|ne|ch|us|ma|si|om|ur
{"role":"user","text":"|{"role":"assistant","text":"|{"type":"string"}|{"type":"integer"}|{"type":"number"}|"type":"|"required":[|"properties":{|"additionalProperties":false
"target":|"category":"|"content":"|2025-|2026-|, |: |.\n|\n\n|  |    |----|====|在|是|不|的|了|我|你|他|这|那|有|要|会|能|说|用|中|为|和|或|一|个|用户|记忆|会话""".replace("\n|", "|").replace("\n", "|")

TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"


def vocabulary():
    """Pieces and their kinds. What is user-defined is taken out of a text before anything else, the longest first."""
    kinds = gguf.TokenType
    pieces = {"<unk>": kinds.UNKNOWN, "<s>": kinds.CONTROL, END: kinds.CONTROL}
    pieces |= {f"<0x{b:02X}>": kinds.BYTE for b in range(256)}
    pieces["▁"] = kinds.NORMAL  # a space, for this kind of tokenizer
    pieces |= {f"<|{role}|>": kinds.CONTROL for role in ("system", "user", "assistant")}
    of_replies = [*STARTS.values(), *FOLLOWS, *(p for after in FOLLOWS.values() for p in after)]
    for piece in [*of_replies, *(p for cues in CUES for p in cues.values()), *COMMON.split("|")]:
        if piece not in pieces and piece.strip("\n"):
            pieces[piece] = kinds.USER_DEFINED
    missing = {p for after in FOLLOWS.values() for p in after} - set(FOLLOWS) - {END}
    assert not missing, f"nothing follows {missing}"
    return pieces


def weights(ids):
    """All tensors, by name."""
    rng = np.random.default_rng(SEED)
    n = len(ids)
    classes = [[None, *cues] for cues in CUES]  # None is what the beginning of the text stands for: that there is no cue
    first = np.cumsum([n, *map(len, classes)])  # where the classes of each kind begin in the residual stream
    assert first[-1] <= WIDTH, f"{first[-1]} dimensions are needed"
    # After normalisation a one-hot embedding is this large; with one class of each kind beside it, that much.
    alone, beside = np.sqrt(WIDTH), np.sqrt(WIDTH / (1 + len(CUES)))

    embedding = np.zeros((n, WIDTH))
    embedding[:, :n] = np.eye(n)
    query, key, value = (rng.normal(0, 0.02, (WIDTH, WIDTH)) for _ in range(3))
    output = np.zeros((WIDTH, WIDTH))
    for head, cues in enumerate(CUES):
        rows = slice(head * HEAD, (head + 1) * HEAD)
        query[rows], key[rows], value[rows] = 0, 0, 0
        slow = (head + 1) * HEAD - 2  # the pair that positions turn least
        query[slow, :n] = np.sqrt(HEAD) * 5 / alone
        key[slow, ids["<s>"]] = LEVEL / 5 / alone
        for c, cue in enumerate(classes[head]):
            token = "<s>" if cue is None else cues[cue]
            if cue is not None:
                key[slow, ids[token]] = 2 * LEVEL / 5 / alone
            value[head * HEAD + c, ids[token]] = 1 / alone
            output[first[head] + c, head * HEAD + c] = 1

    table = rng.normal(NEVER, 0.5, (n, n))  # of what follows what, a row for what follows
    for before, after in FOLLOWS.items():
        total = sum(after.values())
        for piece, odds in after.items():
            table[ids[piece], ids[before]] = np.log(odds / total)
    for start in STARTS.values():
        table[ids[start], ids["<|assistant|>"]] = 0
    asked = np.zeros((n, first[-1] - n))
    for name, start in STARTS.items():
        for head, cues in enumerate(CUES):
            if name in cues:
                asked[ids[start], first[head] + classes[head].index(name) - n] += MARGIN * (head + 1)
        if name in ORDERS:
            asked[ids[start], first[1] - n] -= MARGIN  # not unless ordered
            asked[ids[start], first[2] + 1 - n] -= 4 * MARGIN  # and not when a better reply is asked for
    scores = np.zeros((n, WIDTH))
    scores[:, :n], scores[:, n : first[-1]] = table / beside, asked / beside

    ones = np.ones(WIDTH)
    return {
        "token_embd.weight": embedding, "output_norm.weight": ones, "output.weight": scores,
        "blk.0.attn_norm.weight": ones, "blk.0.attn_q.weight": query, "blk.0.attn_k.weight": key, "blk.0.attn_v.weight": value,
        "blk.0.attn_output.weight": output, "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": rng.normal(0, 0.02, (FEED_FORWARD, WIDTH)), "blk.0.ffn_up.weight": rng.normal(0, 0.02, (FEED_FORWARD, WIDTH)),
        "blk.0.ffn_down.weight": np.zeros((WIDTH, FEED_FORWARD)),
    }  # fmt: skip


def main(path):
    pieces = vocabulary()
    ids = {piece: i for i, piece in enumerate(pieces)}
    w = gguf.GGUFWriter(path, "llama")
    w.add_name("counted")
    w.add_description("A table of what follows what, made for tests. It knows nothing.")
    w.add_context_length(CONTEXT)
    w.add_embedding_length(WIDTH)
    w.add_block_count(1)
    w.add_feed_forward_length(FEED_FORWARD)
    w.add_head_count(HEADS)
    w.add_head_count_kv(HEADS)
    w.add_rope_dimension_count(HEAD)
    w.add_rope_freq_base(ROPE_BASE)
    w.add_layer_norm_rms_eps(1e-9)
    w.add_vocab_size(len(pieces))
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    w.add_tokenizer_model("llama")
    w.add_token_list([p.encode() for p in pieces])
    w.add_token_scores([0.0] * len(pieces))
    w.add_token_types(list(pieces.values()))
    w.add_bos_token_id(ids["<s>"])
    w.add_eos_token_id(ids[END])
    w.add_unk_token_id(ids["<unk>"])
    w.add_add_bos_token(True)
    w.add_add_eos_token(False)
    w.add_add_space_prefix(False)
    w.add_chat_template(TEMPLATE)
    parameters = 0
    for name, tensor in weights(ids).items():
        parameters += tensor.size
        w.add_tensor(name, np.ascontiguousarray(tensor, dtype=np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"made a model of {parameters / 1e6:.1f} million parameters with {len(pieces)} pieces of text")


if __name__ == "__main__":
    main(sys.argv[1])
