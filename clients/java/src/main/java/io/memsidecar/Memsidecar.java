package io.memsidecar;

import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.memsidecar.v1.AdminServiceGrpc;
import io.memsidecar.v1.AdminServiceInfoRequest;
import io.memsidecar.v1.FileServiceGrpc;
import io.memsidecar.v1.LogServiceGrpc;
import io.memsidecar.v1.MemoryServiceGrpc;
import io.memsidecar.v1.OperationServiceGrpc;
import io.memsidecar.v1.SearchServiceGrpc;
import io.memsidecar.v1.SessionServiceGrpc;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A connection to the memsidecar daemon, which owns an agent's long-term memory. Several threads may use it.
 *
 * <p>The stubs are the generated ones. A write is durable when its call returns. A write with an idempotency key can be
 * retried after {@code UNAVAILABLE}; {@link Failure} reads the other errors of a call.
 */
public final class Memsidecar implements AutoCloseable {
  public final MemoryServiceGrpc.MemoryServiceBlockingStub memory;
  public final SearchServiceGrpc.SearchServiceBlockingStub searches;
  public final SessionServiceGrpc.SessionServiceBlockingStub sessions;
  public final LogServiceGrpc.LogServiceBlockingStub logs;
  public final OperationServiceGrpc.OperationServiceBlockingStub operations;
  public final FileServiceGrpc.FileServiceBlockingStub files;
  public final AdminServiceGrpc.AdminServiceBlockingStub admin;

  private final ManagedChannel channel;
  private final MultiThreadIoEventLoopGroup loops;

  private Memsidecar(Path socket) {
    loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    channel =
        NettyChannelBuilder.forAddress(UnixDomainSocketAddress.of(socket))
            .overrideAuthority("memsidecar")
            .channelType(NioDomainSocketChannel.class)
            .eventLoopGroup(loops)
            .withOption(ChannelOption.SO_KEEPALIVE, null) // a Unix socket has no such option
            .usePlaintext()
            .build();
    memory = MemoryServiceGrpc.newBlockingStub(channel);
    searches = SearchServiceGrpc.newBlockingStub(channel);
    sessions = SessionServiceGrpc.newBlockingStub(channel);
    logs = LogServiceGrpc.newBlockingStub(channel);
    operations = OperationServiceGrpc.newBlockingStub(channel);
    files = FileServiceGrpc.newBlockingStub(channel);
    admin = AdminServiceGrpc.newBlockingStub(channel);
  }

  /**
   * Finds the daemon, starts it if none runs, and checks that it answers. It does not start a daemon that was stopped with
   * {@code memsidecar daemon stop}.
   *
   * @throws IOException if there is no daemon; the message says why and what to do
   */
  public static Memsidecar connect() throws IOException, InterruptedException {
    return connect(Finder.fromEnvironment());
  }

  /** Connects to the daemon of a finder. */
  public static Memsidecar connect(Finder finder) throws IOException, InterruptedException {
    Memsidecar client = new Memsidecar(finder.find());
    try {
      client.admin.info(AdminServiceInfoRequest.getDefaultInstance());
      return client;
    } catch (StatusRuntimeException err) {
      client.close();
      throw new IOException("the daemon does not answer: " + err.getMessage(), err);
    }
  }

  /** Closes the connection. The daemon keeps running. */
  @Override
  public void close() throws InterruptedException {
    channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
