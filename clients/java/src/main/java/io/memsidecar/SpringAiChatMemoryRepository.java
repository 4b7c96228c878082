package io.memsidecar;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.ToNumberPolicy;
import io.memsidecar.v1.Role;
import io.memsidecar.v1.SessionMessage;
import io.memsidecar.v1.ToolCall;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import org.springframework.ai.chat.messages.AbstractMessage;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.MessageType;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage.ToolResponse;
import org.springframework.ai.chat.messages.UserMessage;

/**
 * Spring AI's repository of chat memories. Each conversation is a recorded session of its id, from which the daemon learns;
 * what a window leaves out stays in the recording. Several processes may write to one conversation. Calls throw
 * StatusRuntimeException.
 */
public final class SpringAiChatMemoryRepository implements ChatMemoryRepository {
  private final Conversations<Message> conversations;

  /** Keeps conversations in the space {@code spring-ai}. */
  public SpringAiChatMemoryRepository(Memsidecar client) {
    this(client, "spring-ai");
  }

  /** Keeps conversations in a space. */
  public SpringAiChatMemoryRepository(Memsidecar client, String space) {
    conversations = new Conversations<>(client, space, new Messages());
  }

  @Override
  public List<String> findConversationIds() {
    return conversations.ids();
  }

  @Override
  public List<Message> findByConversationId(String conversationId) {
    return conversations.read(conversationId);
  }

  @Override
  public void saveAll(String conversationId, List<Message> messages) {
    conversations.replace(conversationId, messages);
  }

  @Override
  public void deleteByConversationId(String conversationId) {
    conversations.clear(conversationId);
  }

  /** A message as it is stored. */
  private record Stored(
      MessageType type,
      String text,
      Map<String, Object> metadata,
      List<AssistantMessage.ToolCall> calls,
      List<ToolResponse> responses) {}

  private static final class Messages implements Conversations.Codec<Message> {
    private static final Gson GSON =
        new GsonBuilder().setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE).disableHtmlEscaping().create();

    @Override
    public JsonElement encode(Message message) {
      Map<String, Object> metadata = new TreeMap<>(message.getMetadata());
      metadata.remove(AbstractMessage.MESSAGE_TYPE);
      metadata.values().removeIf(value -> !(value instanceof String || value instanceof Number || value instanceof Boolean));
      List<AssistantMessage.ToolCall> calls = message instanceof AssistantMessage answer ? answer.getToolCalls() : List.of();
      List<ToolResponse> responses = message instanceof ToolResponseMessage results ? results.getResponses() : List.of();
      return GSON.toJsonTree(new Stored(message.getMessageType(), message.getText(), metadata, calls, responses));
    }

    @Override
    public Message decode(JsonElement json) {
      Stored stored = GSON.fromJson(json, Stored.class);
      return switch (stored.type()) {
        case USER -> UserMessage.builder().text(stored.text()).metadata(stored.metadata()).build();
        case SYSTEM -> SystemMessage.builder().text(stored.text()).metadata(stored.metadata()).build();
        case ASSISTANT ->
            AssistantMessage.builder().content(stored.text()).properties(stored.metadata()).toolCalls(stored.calls()).build();
        case TOOL -> ToolResponseMessage.builder().responses(stored.responses()).metadata(stored.metadata()).build();
      };
    }

    @Override
    public Message turn(Role role, String text) {
      return role == Role.ROLE_USER ? new UserMessage(text) : new AssistantMessage(text);
    }

    @Override
    public SessionMessage readable(Message message) {
      if (message instanceof ToolResponseMessage results) {
        if (results.getResponses().size() != 1) {
          return null;
        }
        ToolResponse result = results.getResponses().get(0);
        String text = Conversations.fitting(result.responseData());
        return SessionMessage.newBuilder()
            .setRole(Role.ROLE_TOOL)
            .setTool(ToolCall.newBuilder().setName(result.name()).setResult(text))
            .build();
      }
      Role role =
          switch (message.getMessageType()) {
            case USER -> Role.ROLE_USER;
            case ASSISTANT -> Role.ROLE_ASSISTANT;
            default -> null;
          };
      String text = message.getText();
      if (role == null || text == null || text.isBlank()) {
        return null;
      }
      return SessionMessage.newBuilder().setRole(role).setContent(Conversations.fitting(text)).build();
    }
  }
}
