// Adds memories one after the other and prints the id of each that was acknowledged.
import { connect } from "../../typescript/dist/index.js";

const client = await connect({ patience: 60_000 });
for (let i = 0; i < Number(process.argv[2]); i++) {
  console.log((await client.remember(`node fact ${i} of the shared store`)).id);
}
client.close();
