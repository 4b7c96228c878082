package io.memsidecar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import io.memsidecar.v1.AdminServiceInfoRequest;
import io.memsidecar.v1.MemoryServiceAddRequest;
import io.memsidecar.v1.NewMemory;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Runs clients/conformance against a real daemon, whose user is a temporary directory. */
class ConformanceTest {
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

  @TestFactory
  Stream<DynamicTest> conformance() throws IOException {
    JsonArray cases = JsonParser.parseString(Files.readString(Path.of("../conformance/cases.json"))).getAsJsonArray();
    return Stream.iterate(0, i -> i < cases.size(), i -> i + 1)
        .map(
            i -> {
              JsonObject one = cases.get(i).getAsJsonObject();
              return DynamicTest.dynamicTest(one.get("name").getAsString(), () -> runCase(one, "java-" + i));
            });
  }

  @Test
  void failureSaysWhatIsWrong() {
    MemoryServiceAddRequest empty = MemoryServiceAddRequest.newBuilder().addItems(NewMemory.newBuilder()).build();
    Failure failure = Failure.of(assertThrows(StatusRuntimeException.class, () -> client.memory.add(empty)));
    assertEquals("items[0].content", failure.violations().get(0).field());
  }

  @Test
  void programAndSocketAreNamed() {
    IOException missing = assertThrows(IOException.class, () -> Memsidecar.connect(new Finder("", "/nowhere/memsidecar", true)));
    assertTrue(missing.getMessage().contains("MEMSIDECAR_PROGRAM"), missing.getMessage());
    assertThrows(IOException.class, () -> Memsidecar.connect(new Finder("/tmp/no-such-socket", "memsidecar", true)));
    for (String given : List.of("/run/s", "unix:/run/s", "unix:///run/s")) {
      assertEquals("/run/s", Finder.socketPath(given));
    }
    for (String given : List.of("@s", "\0s", "unix-abstract:s", "unix:@s")) {
      IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> Finder.socketPath(given));
      assertTrue(refused.getMessage().contains("abstract sockets are not supported"), refused.getMessage());
    }
  }

  @Test
  void connectionOutlivesTheDaemon() throws Exception {
    client.admin.info(AdminServiceInfoRequest.getDefaultInstance());
    home.daemon("restart");
    long pid = client.admin.withWaitForReady().info(AdminServiceInfoRequest.getDefaultInstance()).getPid();
    assertTrue(ProcessHandle.of(pid).orElseThrow().isAlive());
  }

  private static void runCase(JsonObject one, String space) throws Exception {
    Map<String, String> variables = new HashMap<>(Map.of("space", space));
    for (JsonElement step : one.getAsJsonArray("steps")) {
      runStep(step.getAsJsonObject(), variables);
    }
  }

  private static void runStep(JsonObject step, Map<String, String> variables) throws Exception {
    String call = step.get("call").getAsString();
    Message response;
    try {
      response = call(call, substitute(step.get("request").toString(), variables));
    } catch (StatusRuntimeException thrown) {
      assertTrue(step.has("error"), () -> call + ": " + thrown);
      checkError(step.getAsJsonObject("error"), Failure.of(thrown), variables);
      return;
    }
    assertFalse(step.has("error"), call + " did not fail");
    JsonElement got = JsonParser.parseString(JsonFormat.printer().print(response));
    if (step.has("expect")) {
      compare(step.get("expect"), got, variables, call);
    }
    if (step.has("save")) {
      for (Map.Entry<String, JsonElement> e : step.getAsJsonObject("save").entrySet()) {
        variables.put(e.getKey(), at(got, e.getValue().getAsString()).getAsString());
      }
    }
  }

  /** Makes a call by the generated stub, and of a stream takes the first message. */
  private static Message call(String name, String request) throws Exception {
    String[] parts = name.split("/");
    Object stub =
        switch (parts[0]) {
          case "MemoryService" -> client.memory;
          case "SearchService" -> client.searches;
          case "SessionService" -> client.sessions;
          case "LogService" -> client.logs;
          case "OperationService" -> client.operations;
          case "FileService" -> client.files;
          default -> client.admin;
        };
    Class<?> type = Class.forName("io.memsidecar.v1." + parts[0] + parts[1] + "Request");
    Message.Builder builder = (Message.Builder) type.getMethod("newBuilder").invoke(null);
    JsonFormat.parser().merge(request, builder);
    Method method = stub.getClass().getMethod(Character.toLowerCase(parts[1].charAt(0)) + parts[1].substring(1), type);
    Context.CancellableContext context = Context.current().withCancellation();
    Context outer = context.attach();
    try {
      Object result = method.invoke(stub, builder.build());
      return (Message) (result instanceof Iterator<?> stream ? stream.next() : result);
    } catch (InvocationTargetException err) {
      throw (Exception) err.getCause();
    } finally {
      context.detach(outer);
      context.cancel(null); // ends a stream
    }
  }

  private static void checkError(JsonObject want, Failure failure, Map<String, String> variables) {
    assertEquals(want.get("code").getAsString(), failure.code());
    assertEquals(want.get("reason").getAsString(), failure.reason());
    if (want.has("metadata")) {
      for (Map.Entry<String, JsonElement> e : want.getAsJsonObject("metadata").entrySet()) {
        assertEquals(substitute(e.getValue().getAsString(), variables), failure.metadata().get(e.getKey()));
      }
    }
    if (want.has("fields")) {
      for (JsonElement field : want.getAsJsonArray("fields")) {
        assertTrue(failure.violations().stream().anyMatch(v -> v.field().equals(field.getAsString())), "no violation of " + field);
      }
    }
  }

  private static void compare(JsonElement want, JsonElement got, Map<String, String> variables, String path) {
    if (want.isJsonObject()) {
      assertTrue(got != null && got.isJsonObject(), path);
      for (Map.Entry<String, JsonElement> e : want.getAsJsonObject().entrySet()) {
        compare(e.getValue(), got.getAsJsonObject().get(e.getKey()), variables, path + "." + e.getKey());
      }
    } else if (want.isJsonArray()) {
      assertTrue(got != null && got.isJsonArray() && got.getAsJsonArray().size() == want.getAsJsonArray().size(), path + ": " + got);
      for (int i = 0; i < want.getAsJsonArray().size(); i++) {
        compare(want.getAsJsonArray().get(i), got.getAsJsonArray().get(i), variables, path + "[" + i + "]");
      }
    } else if (want.getAsString().equals("$absent")) {
      assertEquals(null, got, path);
    } else {
      assertNotNull(got, path + " is absent");
      if (want.getAsJsonPrimitive().isNumber()) {
        assertEquals(want.getAsDouble(), got.getAsDouble(), path);
      } else if (!want.getAsString().equals("$present")) {
        assertEquals(substitute(want.getAsString(), variables), got.getAsString(), path);
      }
    }
  }

  private static JsonElement at(JsonElement value, String path) {
    for (String key : path.split("\\.")) {
      value = value.isJsonArray() ? value.getAsJsonArray().get(Integer.parseInt(key)) : value.getAsJsonObject().get(key);
      assertNotNull(value, "there is no " + path);
    }
    return value;
  }

  private static String substitute(String text, Map<String, String> variables) {
    for (Map.Entry<String, String> e : variables.entrySet()) {
      text = text.replace("${" + e.getKey() + "}", e.getValue());
    }
    return text;
  }
}
