package io.memsidecar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.store.memory.chat.ChatMemoryStore;
import dev.langchain4j.store.memory.chat.InMemoryChatMemoryStore;
import io.memsidecar.v1.SearchServiceRecallRequest;
import io.memsidecar.v1.SessionMessage;
import io.memsidecar.v1.SessionServiceListMessagesRequest;
import io.memsidecar.v1.SessionServiceReflectRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import org.springframework.ai.chat.memory.InMemoryChatMemoryRepository;
import org.springframework.ai.chat.memory.MessageWindowChatMemory;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.UserMessage;

/** The chat memories of Spring AI and LangChain4j on memsidecar, beside those that they have themselves. */
class ChatMemoryTest {
  private static final int TURNS = 30;
  private static Home home;
  private static Memsidecar client;

  @BeforeAll
  static void start() throws Exception {
    home = new Home();
    client = home.connect();
  }

  @AfterAll
  static void stop() throws Exception {
    client.close();
    home.close();
  }

  private static final List<Message> SPRING =
      List.of(
          new SystemMessage("be brief"),
          UserMessage.builder().text("What time is it? 几点了 🐕").metadata(Map.of("from", "ada", "n", 7L)).build(),
          AssistantMessage.builder()
              .content("")
              .toolCalls(List.of(new AssistantMessage.ToolCall("c1", "function", "clock", "{\"zone\":\"UTC\"}")))
              .build(),
          ToolResponseMessage.builder()
              .responses(List.of(new ToolResponseMessage.ToolResponse("c1", "clock", "12:00")))
              .build(),
          new AssistantMessage("It is noon"));

  @Test
  void springRepositoryAnswersAsTheOneInMemory() {
    List<ChatMemoryRepository> both = List.of(new SpringAiChatMemoryRepository(client, "same"), new InMemoryChatMemoryRepository());
    same(both, repository -> repository.findConversationIds());
    same(both, repository -> repository.findByConversationId("a"));
    List<List<Message>> lists =
        List.of(
            SPRING,
            SPRING.subList(2, 5), // a window moves on
            List.of(new SystemMessage("be long"), SPRING.get(4)), // another beginning
            List.of(SPRING.get(4), SPRING.get(4), SPRING.get(1)),
            List.of());
    for (List<Message> messages : lists) {
      same(both, repository -> save(repository, "a", messages));
      assertEquals(messages, new SpringAiChatMemoryRepository(client, "same").findByConversationId("a")); // as in another process
    }
    same(both, repository -> save(repository, "b", SPRING));
    same(both, repository -> save(repository, "a", SPRING.subList(0, 1)));
    same(both, repository -> new HashSet<>(repository.findConversationIds()));
    for (int i = 0; i < 2; i++) {
      both.forEach(repository -> repository.deleteByConversationId("a"));
      same(both, repository -> repository.findByConversationId("a"));
      same(both, repository -> new HashSet<>(repository.findConversationIds()));
    }
    same(both, repository -> save(repository, "a", SPRING.subList(1, 2)));
  }

  @Test
  void langChainStoreAnswersAsTheOneInMemory() {
    ToolExecutionRequest call = ToolExecutionRequest.builder().id("c1").name("clock").arguments("{\"zone\":\"UTC\"}").build();
    List<ChatMessage> all =
        List.of(
            dev.langchain4j.data.message.SystemMessage.from("be brief"),
            dev.langchain4j.data.message.UserMessage.from("ada", "What time is it? 几点了 🐕"),
            AiMessage.from(call),
            ToolExecutionResultMessage.from(call, "12:00"),
            AiMessage.from("It is noon"));
    List<ChatMemoryStore> both = List.of(new LangChain4jChatMemoryStore(client, "same4j"), new InMemoryChatMemoryStore());
    for (List<ChatMessage> messages : List.of(all, all.subList(2, 5), List.of(all.get(0), all.get(4)), List.<ChatMessage>of())) {
      same(both, store -> update(store, "a", messages));
      same(both, store -> update(store, 7, messages)); // an id of any type
      assertEquals(messages, new LangChain4jChatMemoryStore(client, "same4j").getMessages("a"));
    }
    same(both, store -> update(store, "a", all));
    for (int i = 0; i < 2; i++) {
      both.forEach(store -> store.deleteMessages("a"));
      same(both, store -> store.getMessages("a"));
    }
  }

  @Test
  void concurrentWritersOfOneSpringConversationLoseNothing() throws Exception {
    concurrently(
        (own, n) ->
            MessageWindowChatMemory.builder()
                .chatMemoryRepository(new SpringAiChatMemoryRepository(own))
                .maxMessages(1000)
                .build()
                .add("shared", new UserMessage(n)));
    List<Message> messages = new SpringAiChatMemoryRepository(client).findByConversationId("shared");
    assertEquals(expected(), messages.stream().map(Message::getText).sorted().toList());
  }

  @Test
  void concurrentWritersOfOneLangChainMemoryLoseNothing() throws Exception {
    concurrently(
        (own, n) ->
            dev.langchain4j.memory.chat.MessageWindowChatMemory.builder()
                .id("shared")
                .chatMemoryStore(new LangChain4jChatMemoryStore(own))
                .maxMessages(1000)
                .build()
                .add(dev.langchain4j.data.message.UserMessage.from(n)));
    List<ChatMessage> messages = new LangChain4jChatMemoryStore(client).getMessages("shared");
    assertEquals(
        expected(), messages.stream().map(m -> ((dev.langchain4j.data.message.UserMessage) m).singleText()).sorted().toList());
  }

  @Test
  void aWindowStaysSmallAndEachMessageIsRecordedOnce() {
    MessageWindowChatMemory memory =
        MessageWindowChatMemory.builder()
            .chatMemoryRepository(new SpringAiChatMemoryRepository(client, "window"))
            .maxMessages(5)
            .build();
    for (int n = 0; n < 50; n++) {
      memory.add("w", new UserMessage("turn " + n));
    }
    assertEquals(List.of("turn 45", "turn 46", "turn 47", "turn 48", "turn 49"), memory.get("w").stream().map(Message::getText).toList());
    List<String> turns = recorded("window", "w").stream().filter(m -> m.getRole().getNumber() == 1).map(SessionMessage::getContent).toList();
    assertEquals(IntStream.range(0, 50).mapToObj(n -> "turn " + n).toList(), turns);
  }

  @Test
  void whatIsTooLongForAMessageIsShortened() {
    ChatMemoryRepository repository = new SpringAiChatMemoryRepository(client, "long");
    repository.saveAll("l", List.of(new UserMessage("🐕".repeat(100_000)), SPRING.get(4)));
    List<Message> messages = repository.findByConversationId("l");
    assertTrue(messages.get(0).getText().matches("(🐕){1000,} \\[cut] (🐕){1000,}"));
    assertEquals(SPRING.get(4), messages.get(1));
  }

  @Test
  void theDaemonLearnsFromAConversation() {
    new SpringAiChatMemoryRepository(client, "learn")
        .saveAll("l", List.of(new UserMessage("Please remember that the port of the API is 8465")));
    client.sessions.reflect(SessionServiceReflectRequest.newBuilder().setSpace("learn").setSessionId("l").build());
    SearchServiceRecallRequest request =
        SearchServiceRecallRequest.newBuilder().addSpaces("learn").setText("which port has the API?").build();
    assertTrue(client.searches.recall(request).getBlock().contains("8465"));
  }

  @Test
  void theExamplesOfTheDocumentationRun() throws Exception {
    runExample("Spring AI");
    runExample("LangChain4j");
  }

  /** Runs the first example below a heading of docs/integrations.md; it must print what stands there. */
  private static void runExample(String heading) throws Exception {
    String docs = Files.readString(Path.of("../../docs/integrations.md"));
    int start = docs.indexOf("\n## " + heading + "\n");
    assertTrue(start >= 0, "docs/integrations.md has no heading " + heading);
    Matcher example = Pattern.compile("```java\n(.*?)```\n+```text\n(.*?)```", Pattern.DOTALL).matcher(docs);
    assertTrue(example.find(start));
    Path file = Files.createTempDirectory("msj").resolve("Example.java");
    Files.writeString(file, example.group(1));
    String classes = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process process = home.as(new ProcessBuilder(java, "-cp", classes, file.toString())).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    String errors = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(example.group(2), printed, errors);
    assertEquals(0, process.waitFor(), errors);
    Files.delete(file);
    Files.delete(file.getParent());
  }

  private interface Turn {
    void add(Memsidecar own, String text) throws Exception;
  }

  /** Lets two writers, each with a connection of its own as two processes have, add turns at once. */
  private static void concurrently(Turn turn) throws Exception {
    ExecutorService writers = Executors.newFixedThreadPool(2);
    try {
      List<Callable<Void>> both = new ArrayList<>();
      for (String writer : List.of("a", "b")) {
        both.add(
            () -> {
              try (Memsidecar own = home.connect()) {
                for (int n = 0; n < TURNS; n++) {
                  turn.add(own, writer + n);
                }
              }
              return null;
            });
      }
      for (var done : writers.invokeAll(both)) {
        done.get();
      }
    } finally {
      writers.shutdown();
    }
  }

  private static List<String> expected() {
    return List.of("a", "b").stream().flatMap(w -> IntStream.range(0, TURNS).mapToObj(n -> w + n)).sorted().toList();
  }

  private static List<SessionMessage> recorded(String space, String session) {
    return client
        .sessions
        .listMessages(SessionServiceListMessagesRequest.newBuilder().setSpace(space).setSessionId(session).build())
        .getMessagesList();
  }

  private static List<Message> save(ChatMemoryRepository repository, String id, List<Message> messages) {
    repository.saveAll(id, messages);
    return repository.findByConversationId(id);
  }

  private static List<ChatMessage> update(ChatMemoryStore store, Object id, List<ChatMessage> messages) {
    store.updateMessages(id, messages);
    return store.getMessages(id);
  }

  private static <S> void same(List<S> both, Function<S, Object> call) {
    assertEquals(call.apply(both.get(1)), call.apply(both.get(0)));
  }
}
