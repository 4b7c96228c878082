package io.memsidecar;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The error of a call, read from its exception.
 *
 * @param code name of the gRPC code
 * @param reason UPPER_SNAKE and stable, such as STALE_REVISION; empty if no daemon answered
 * @param message for people
 * @param metadata details of the reason
 * @param violations all invalid fields of the request
 */
public record Failure(String code, String reason, String message, Map<String, String> metadata, List<Violation> violations) {
  /**
   * An invalid field of a request.
   *
   * @param field its path, such as items[0].salience
   * @param description for people
   */
  public record Violation(String field, String description) {}

  /** Reads an exception of a generated stub. */
  public static Failure of(StatusRuntimeException thrown) {
    String reason = "";
    Map<String, String> metadata = Map.of();
    List<Violation> violations = new ArrayList<>();
    Status status = StatusProto.fromThrowable(thrown);
    try {
      for (Any detail : status == null ? List.<Any>of() : status.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          reason = info.getReason();
          metadata = info.getMetadataMap();
        } else if (detail.is(BadRequest.class)) {
          for (BadRequest.FieldViolation v : detail.unpack(BadRequest.class).getFieldViolationsList()) {
            violations.add(new Violation(v.getField(), v.getDescription()));
          }
        }
      }
    } catch (InvalidProtocolBufferException err) {
      throw new IllegalStateException("the daemon's error details cannot be read", err);
    }
    String message = thrown.getStatus().getDescription();
    return new Failure(thrown.getStatus().getCode().name(), reason, message == null ? "" : message, metadata, List.copyOf(violations));
  }
}
