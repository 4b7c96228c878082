package io.memsidecar;

import io.memsidecar.v1.MemoryServiceAddRequest;
import io.memsidecar.v1.NewMemory;
import io.memsidecar.v1.OperationServiceUndoRequest;
import io.memsidecar.v1.SearchHit;
import io.memsidecar.v1.SearchServiceSearchRequest;

/** An example: saves a memory, finds it and undoes the write. */
public final class Remember {
  private Remember() {}

  public static void main(String[] args) throws Exception {
    try (Memsidecar client = Memsidecar.connect()) {
      NewMemory memory = NewMemory.newBuilder().setContent("We deploy with make release").setCategory("facts").build();
      MemoryServiceAddRequest add = MemoryServiceAddRequest.newBuilder().addItems(memory).build();
      String operation = client.memory.add(add).getResult().getOperationId();

      SearchServiceSearchRequest query = SearchServiceSearchRequest.newBuilder().setQuery("how do we deploy").build();
      for (SearchHit hit : client.searches.search(query).getHitsList()) {
        System.out.printf("%.3f  %s%n", hit.getScore(), hit.getMemory().getContent());
      }
      if (!operation.isEmpty()) {
        client.operations.undo(OperationServiceUndoRequest.newBuilder().setId(operation).build());
        System.out.println("undid operation " + operation);
      }
    }
  }
}
