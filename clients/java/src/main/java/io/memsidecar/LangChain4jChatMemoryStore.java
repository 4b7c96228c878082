package io.memsidecar;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageDeserializer;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.store.memory.chat.ChatMemoryStore;
import io.memsidecar.v1.Role;
import io.memsidecar.v1.SessionMessage;
import io.memsidecar.v1.ToolCall;
import java.util.List;

/**
 * LangChain4j's store of chat memories. Each memory is a recorded session of its id, from which the daemon learns; what a
 * window leaves out stays in the recording. Several processes may write to one memory. Calls throw StatusRuntimeException.
 */
public final class LangChain4jChatMemoryStore implements ChatMemoryStore {
  private final Conversations<ChatMessage> conversations;

  /** Keeps memories in the space {@code langchain4j}. */
  public LangChain4jChatMemoryStore(Memsidecar client) {
    this(client, "langchain4j");
  }

  /** Keeps memories in a space. */
  public LangChain4jChatMemoryStore(Memsidecar client, String space) {
    conversations = new Conversations<>(client, space, new Messages());
  }

  @Override
  public List<ChatMessage> getMessages(Object memoryId) {
    return conversations.read(memoryId.toString());
  }

  @Override
  public void updateMessages(Object memoryId, List<ChatMessage> messages) {
    conversations.replace(memoryId.toString(), messages);
  }

  @Override
  public void deleteMessages(Object memoryId) {
    conversations.clear(memoryId.toString());
  }

  private static final class Messages implements Conversations.Codec<ChatMessage> {
    @Override
    public JsonElement encode(ChatMessage message) {
      return JsonParser.parseString(ChatMessageSerializer.messageToJson(message));
    }

    @Override
    public ChatMessage decode(JsonElement json) {
      return ChatMessageDeserializer.messageFromJson(json.toString());
    }

    @Override
    public ChatMessage turn(Role role, String text) {
      return role == Role.ROLE_USER ? UserMessage.from(text) : AiMessage.from(text);
    }

    @Override
    public SessionMessage readable(ChatMessage message) {
      if (message instanceof UserMessage user && user.hasSingleText()) {
        return said(Role.ROLE_USER, user.singleText());
      }
      if (message instanceof AiMessage answer && answer.text() != null) {
        return said(Role.ROLE_ASSISTANT, answer.text());
      }
      if (message instanceof ToolExecutionResultMessage result && result.hasSingleText()) {
        ToolCall call = ToolCall.newBuilder().setName(result.toolName()).setResult(Conversations.fitting(result.text())).build();
        return SessionMessage.newBuilder().setRole(Role.ROLE_TOOL).setTool(call).build();
      }
      return null;
    }

    private static SessionMessage said(Role role, String text) {
      return text.isBlank() ? null : SessionMessage.newBuilder().setRole(role).setContent(Conversations.fitting(text)).build();
    }
  }
}
