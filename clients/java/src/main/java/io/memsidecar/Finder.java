package io.memsidecar;

import com.sun.security.auth.module.UnixSystem;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Finds and starts the daemon. It asks the memsidecar program for the socket: the program reads flags, environment and
 * configuration, and lets only one of several clients start the daemon. A given socket is used as it is.
 *
 * @param socket path of the daemon's socket, or empty
 * @param program the memsidecar program
 * @param start start a daemon if none runs
 */
public record Finder(String socket, String program, boolean start) {
  /** The user's own daemon, according to MEMSIDECAR_SOCKET and MEMSIDECAR_PROGRAM. */
  public static Finder fromEnvironment() {
    return new Finder(set("MEMSIDECAR_SOCKET", ""), set("MEMSIDECAR_PROGRAM", "memsidecar"), true);
  }

  private static String set(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  Path find() throws IOException, InterruptedException {
    Path path = Path.of(socket.isEmpty() ? ask() : socketPath(socket));
    if (Files.exists(path)) {
      checkOwner(path);
    }
    return path;
  }

  /**
   * Returns the path of a socket that is given as a path, or with unix: or unix:// before it. An abstract socket has no
   * owner that could be checked, so the daemon never listens on one.
   */
  static String socketPath(String address) {
    if (address.matches("(?s)(@|\\x00|unix-abstract:|unix:@).*")) {
      throw new IllegalArgumentException(
          "socket \"" + address + "\": abstract sockets are not supported; use the path of the daemon's socket");
    }
    return address.replaceFirst("^unix:(//)?", "");
  }

  private String ask() throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(program, "daemon", "socket"));
    if (!start) {
      command.add("--no-start");
    }
    Process process;
    try {
      process = new ProcessBuilder(command).start();
    } catch (IOException err) {
      throw new IOException(
          "the memsidecar program could not be run: " + err.getMessage() + "; install it, or set MEMSIDECAR_PROGRAM or the socket", err);
    }
    process.getOutputStream().close();
    CompletableFuture<String> errors = CompletableFuture.supplyAsync(() -> read(process.getErrorStream()));
    String path = read(process.getInputStream());
    if (process.waitFor() != 0) {
      throw new IOException(errors.join().strip());
    }
    return path.stripTrailing();
  }

  private static String read(InputStream stream) {
    try (stream) {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException err) {
      return err.getMessage();
    }
  }

  /** Rejects the socket of another user, who could read the memories. */
  private static void checkOwner(Path path) throws IOException {
    int owner = (Integer) Files.getAttribute(path, "unix:uid");
    if (owner != new UnixSystem().getUid() && owner != 0) {
      throw new IOException("the socket " + path + " belongs to uid " + owner + ", not to you");
    }
  }
}
