package io.memsidecar;

import io.memsidecar.v1.MemoryServiceAddRequest;
import io.memsidecar.v1.NewMemory;
import io.memsidecar.v1.OperationServiceUndoRequest;
import io.memsidecar.v1.SearchHit;
import io.memsidecar.v1.SearchServiceSearchRequest;

/** An example: remembers something, finds it again and takes it back. */
public final class Remember {
  private Remember() {}

  public static void main(String[] args) throws Exception {
    try (Memsidecar client = Memsidecar.connect()) {
      NewMemory memory = NewMemory.newBuilder().setContent("We deploy with make release").setCategory("facts").build();
      long operation = client.memory.add(MemoryServiceAddRequest.newBuilder().addItems(memory).build()).getResult().getOperation();

      SearchServiceSearchRequest query = SearchServiceSearchRequest.newBuilder().setQuery("how do we deploy").build();
      for (SearchHit hit : client.searches.search(query).getHitsList()) {
        System.out.printf("%.3f  %s%n", hit.getScore(), hit.getMemory().getContent());
      }
      if (operation != 0) {
        client.operations.undo(OperationServiceUndoRequest.newBuilder().setNumber(operation).build());
        System.out.println("took operation " + operation + " back");
      }
    }
  }
}
