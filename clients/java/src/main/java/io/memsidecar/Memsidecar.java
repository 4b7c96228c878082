package io.memsidecar;

import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.memsidecar.v1.AdminServiceGrpc;
import io.memsidecar.v1.AdminServiceInfoRequest;
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
 * A connection to the memsidecar daemon, which owns an agent's long-term memory. It may be used by several threads.
 *
 * <p>The stubs are the generated ones. A write is durable when its call returns. Give a write an idempotency key and it may be made
 * again after {@code UNAVAILABLE}; {@link Failure} reads what else a call can fail with.
 */
public final class Memsidecar implements AutoCloseable {
  private static final int MAX_RESPONSE = 64 << 20;

  public final MemoryServiceGrpc.MemoryServiceBlockingStub memory;
  public final SearchServiceGrpc.SearchServiceBlockingStub searches;
  public final SessionServiceGrpc.SessionServiceBlockingStub sessions;
  public final LogServiceGrpc.LogServiceBlockingStub logs;
  public final OperationServiceGrpc.OperationServiceBlockingStub operations;
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
            .withOption(ChannelOption.SO_KEEPALIVE, null) // a Unix socket knows no such option
            .maxInboundMessageSize(MAX_RESPONSE)
            .usePlaintext()
            .build();
    memory = MemoryServiceGrpc.newBlockingStub(channel);
    searches = SearchServiceGrpc.newBlockingStub(channel);
    sessions = SessionServiceGrpc.newBlockingStub(channel);
    logs = LogServiceGrpc.newBlockingStub(channel);
    operations = OperationServiceGrpc.newBlockingStub(channel);
    admin = AdminServiceGrpc.newBlockingStub(channel);
  }

  /**
   * Finds the daemon, starting it when none runs, and makes sure that it answers. A daemon that was stopped on purpose stays stopped.
   *
   * @throws IOException when there is no daemon; the message says why and what to do
   */
  public static Memsidecar connect() throws IOException, InterruptedException {
    return connect(Finder.fromEnvironment());
  }

  /** Does the same with the daemon that a finder knows. */
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

  /** Ends the connection; the daemon goes on. */
  @Override
  public void close() throws InterruptedException {
    channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
