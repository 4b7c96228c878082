// A language model that is sure of nothing: whatever it is asked, it wants to take the number out of the first
// memory it was shown.
import { createServer } from 'node:http';

const said = JSON.stringify({
  summary: 'They spoke of the staging database.',
  history: '',
  rules: [],
  items: [
    {
      action: 'UPDATE',
      target: 1,
      category: 'facts',
      title: '',
      content: 'Staging has a database',
      salience: 0.6,
      why: 'it was said',
    },
  ],
});

export async function startModel() {
  const server = createServer((req, res) => {
    req.resume().on('end', () => {
      res.setHeader('Content-Type', 'application/json');
      res.end(
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          model: 'tiny',
          usage: { prompt_tokens: 500, completion_tokens: 60, total_tokens: 560 },
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: said } }],
        }),
      );
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    env: {
      MEMSIDECAR_LLM_PROVIDER: 'openai',
      MEMSIDECAR_LLM_MODEL: 'tiny',
      MEMSIDECAR_LLM_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}
