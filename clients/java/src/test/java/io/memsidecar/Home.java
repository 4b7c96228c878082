package io.memsidecar;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** A user whose home is a temporary directory, with a daemon of the program under test. */
final class Home implements AutoCloseable {
  private final Path directory;
  private final String program;

  Home() throws Exception {
    directory = Files.createTempDirectory(Path.of("/tmp"), "msj"); // short: a socket's path is limited
    String given = System.getenv("MEMSIDECAR_PROGRAM");
    program = given == null || given.isEmpty() ? directory.resolve("memsidecar").toString() : given;
    if (!program.equals(given)) {
      run(new ProcessBuilder("go", "build", "-o", program, "./cmd/memsidecar").directory(Path.of("../..").toFile()));
    }
    daemon("start");
  }

  Memsidecar connect() throws Exception {
    return Memsidecar.connect(new Finder(directory.resolve("memsidecar/memsidecar.sock").toString(), program, true));
  }

  void daemon(String command) throws Exception {
    run(as(new ProcessBuilder(program, "daemon", command)));
  }

  /** Lets a program run as this user. */
  ProcessBuilder as(ProcessBuilder builder) {
    builder.environment().keySet().removeIf(name -> name.startsWith("XDG_") || name.startsWith("MEMSIDECAR_"));
    builder.environment().put("HOME", directory.toString());
    builder.environment().put("XDG_RUNTIME_DIR", directory.toString());
    builder.environment().put("MEMSIDECAR_PROGRAM", program);
    return builder;
  }

  @Override
  public void close() throws Exception {
    daemon("stop");
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private static void run(ProcessBuilder builder) throws Exception {
    assertEquals(0, builder.inheritIO().start().waitFor(), builder.command().toString());
  }
}
