package io.memsidecar;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import io.grpc.StatusRuntimeException;
import io.memsidecar.v1.Role;
import io.memsidecar.v1.Session;
import io.memsidecar.v1.SessionMessage;
import io.memsidecar.v1.SessionServiceAppendRequest;
import io.memsidecar.v1.SessionServiceListMessagesRequest;
import io.memsidecar.v1.SessionServiceListMessagesResponse;
import io.memsidecar.v1.SessionServiceListRequest;
import io.memsidecar.v1.SessionServiceListResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * Conversations that a framework reads and replaces as a whole list, kept as recorded sessions of one space, from which the
 * daemon learns.
 *
 * <p>A session is only appended to: a list is replaced by recording what is new in it, once, and which messages it no longer
 * has. What is new is what the list has beyond the one that the same thread read last, so that the messages of other writers
 * stay. Several threads and processes may use a conversation.
 */
final class Conversations<M> {
  /** Converts the messages of a framework. */
  interface Codec<M> {
    /** Returns a message as JSON. */
    JsonElement encode(M message);

    /** Returns the message of {@link #encode}. */
    M decode(JsonElement json);

    /** Returns a plain turn. */
    M turn(Role role, String text);

    /** Returns a message as a turn or call of a tool that the daemon can learn from, or null. */
    SessionMessage readable(M message);
  }

  private record Entry<M>(long seq, M message) {}

  private record Read<M>(String id, List<Entry<M>> entries) {}

  private static final String MARK = "memsidecar";
  private static final int MAX_ITEM = 60_000; // bytes of JSON; a message holds 64 KiB
  private static final int MAX_BATCH = 1000;

  private final Memsidecar client;
  private final String space;
  private final Codec<M> codec;
  private final ThreadLocal<Read<M>> lastRead = new ThreadLocal<>();

  Conversations(Memsidecar client, String space, Codec<M> codec) {
    this.client = client;
    this.space = space;
    this.codec = codec;
  }

  /** Returns the messages of a conversation; none if it is not known. */
  List<M> read(String id) {
    List<Entry<M>> entries = load(id);
    lastRead.set(new Read<>(id, entries));
    return new ArrayList<>(entries.stream().map(Entry::message).toList());
  }

  /** Makes a conversation these messages, durably, and what other writers added since this thread read it. */
  void replace(String id, List<M> messages) {
    Read<M> read = lastRead.get();
    lastRead.remove();
    List<Entry<M>> before = read != null && read.id().equals(id) ? read.entries() : load(id);
    JsonArray dropped = new JsonArray();
    int kept = 0;
    for (Entry<M> entry : before) {
      if (kept < messages.size() && entry.message().equals(messages.get(kept))) {
        kept++;
      } else {
        dropped.add(entry.seq());
      }
    }
    List<SessionMessage> recorded = new ArrayList<>();
    if (!dropped.isEmpty()) {
      JsonObject note = note("drop");
      note.add("seqs", dropped);
      recorded.add(system(note));
    }
    for (M message : messages.subList(kept, messages.size())) {
      SessionMessage shown = codec.readable(message);
      JsonObject note = note("item");
      note.add("item", fitting(codec.encode(message)));
      note.addProperty("shown", shown != null);
      recorded.add(system(note));
      if (shown != null) {
        recorded.add(shown);
      }
    }
    append(id, recorded);
  }

  /** Hides all messages of a conversation. The recording keeps them. */
  void clear(String id) {
    lastRead.remove();
    if (!load(id).isEmpty()) {
      append(id, List.of(system(note("clear"))));
    }
  }

  /** Returns the ids of the conversations that have messages. Reads all of them. */
  List<String> ids() {
    List<String> ids = new ArrayList<>();
    SessionServiceListRequest.Builder request = SessionServiceListRequest.newBuilder().setSpace(space).setPageSize(MAX_BATCH);
    SessionServiceListResponse page;
    do {
      page = client.sessions.list(request.build());
      ids.addAll(page.getSessionsList().stream().map(Session::getId).filter(id -> !load(id).isEmpty()).toList());
      request.setPageToken(page.getNextPageToken());
    } while (!page.getNextPageToken().isEmpty());
    return ids;
  }

  private void append(String id, List<SessionMessage> messages) {
    for (int start = 0; start < messages.size(); start += MAX_BATCH) {
      client.sessions.append(
          SessionServiceAppendRequest.newBuilder()
              .setSpace(space)
              .setSessionId(id)
              .addAllMessages(messages.subList(start, Math.min(start + MAX_BATCH, messages.size())))
              .setIdempotencyKey(UUID.randomUUID().toString())
              .build());
    }
  }

  private List<Entry<M>> load(String id) {
    List<Entry<M>> entries = new ArrayList<>();
    boolean readableFollows = false;
    SessionServiceListMessagesRequest.Builder request =
        SessionServiceListMessagesRequest.newBuilder().setSpace(space).setSessionId(id);
    String token;
    do {
      SessionServiceListMessagesResponse page = page(request.build());
      for (SessionMessage message : page.getMessagesList()) {
        if (message.getRole() == Role.ROLE_SYSTEM) {
          readableFollows = apply(message, entries);
        } else if (readableFollows) {
          readableFollows = false; // it says what the item before it says
        } else if (message.getRole() != Role.ROLE_TOOL) {
          entries.add(new Entry<>(message.getSeq(), codec.turn(message.getRole(), message.getContent())));
        }
      }
      token = page.getNextPageToken();
      request.setPageToken(token);
    } while (!token.isEmpty());
    return entries;
  }

  private SessionServiceListMessagesResponse page(SessionServiceListMessagesRequest request) {
    try {
      return client.sessions.listMessages(request);
    } catch (StatusRuntimeException err) {
      if (Failure.of(err).reason().equals("NOT_FOUND")) {
        return SessionServiceListMessagesResponse.getDefaultInstance();
      }
      throw err;
    }
  }

  /** Applies a note to the entries; reports whether the next message is the readable form of the item that it holds. */
  private boolean apply(SessionMessage message, List<Entry<M>> entries) {
    try {
      if (!(JsonParser.parseString(message.getContent()) instanceof JsonObject note) || !note.has(MARK)) {
        return false;
      }
      switch (note.get(MARK).getAsString()) {
        case "clear" -> entries.clear();
        case "drop" -> {
          Set<Long> dropped = new HashSet<>();
          note.getAsJsonArray("seqs").forEach(seq -> dropped.add(seq.getAsLong()));
          entries.removeIf(entry -> dropped.contains(entry.seq()));
        }
        case "item" -> {
          entries.add(new Entry<>(message.getSeq(), codec.decode(note.get("item"))));
          return note.get("shown").getAsBoolean();
        }
        default -> {}
      }
      return false;
    } catch (JsonParseException err) {
      return false; // a passage that must not be stored took its end with it; the turn behind it has the text
    }
  }

  private static JsonObject note(String kind) {
    JsonObject note = new JsonObject();
    note.addProperty(MARK, kind);
    return note;
  }

  private static SessionMessage system(JsonObject note) {
    return SessionMessage.newBuilder().setRole(Role.ROLE_SYSTEM).setContent(note.toString()).build();
  }

  /** Shortens a text that is too long for a message, in its middle. */
  static String fitting(String text) {
    return shortened(new JsonPrimitive(text), MAX_ITEM / 4).getAsString();
  }

  private static JsonElement fitting(JsonElement item) {
    JsonElement fits = item;
    for (int longest = MAX_ITEM / 2; fits.toString().getBytes(StandardCharsets.UTF_8).length > MAX_ITEM && longest > 100; longest /= 2) {
      fits = shortened(item, longest);
    }
    return fits;
  }

  private static JsonElement shortened(JsonElement value, int longest) {
    if (value instanceof JsonObject object) {
      JsonObject copy = new JsonObject();
      object.entrySet().forEach(field -> copy.add(field.getKey(), shortened(field.getValue(), longest)));
      return copy;
    }
    if (value instanceof JsonArray array) {
      JsonArray copy = new JsonArray();
      array.forEach(part -> copy.add(shortened(part, longest)));
      return copy;
    }
    if (value instanceof JsonPrimitive primitive && primitive.isString()) {
      String text = primitive.getAsString();
      int characters = text.codePointCount(0, text.length()); // never half of one
      if (characters > longest) {
        String start = text.substring(0, text.offsetByCodePoints(0, longest / 2));
        return new JsonPrimitive(start + " [cut] " + text.substring(text.offsetByCodePoints(text.length(), -longest / 2)));
      }
    }
    return value;
  }
}
