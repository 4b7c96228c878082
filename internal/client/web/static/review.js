// Proposals and edits of files that a person accepts or rejects.
import { call, callAll } from './api.js';
import { h, fill } from './dom.js';
import { said } from './said.js';
import { t, word, stamp } from './texts.js';
import { changesOf, differenceOf } from './operations.js';

const accept = 'RESOLUTION_ACCEPT',
  reject = 'RESOLUTION_REJECT';

// review is the view of what a person decides: proposals that were not applied, and file edits that were not
// accepted.
export function review(box, { space, show, fail }) {
  const proposals = h('div', { class: 'cards' }),
    list = h('div', { class: 'cards' });
  fill(
    box,
    h(
      'div',
      { class: 'page', tabindex: '0' },
      h('h2', {}, t('proposals')),
      h('p', { class: 'dim' }, t('proposalsHint')),
      proposals,
      h('h2', {}, t('fileEdits')),
      h('p', { class: 'dim' }, t('fileEditsHint')),
      list,
    ),
  );
  const button = (word, f, cls) => h('button', { class: cls, onclick: () => f().then(load).catch(fail) }, t(word));
  const none = () => h('p', { class: 'empty' }, t('nothingToReview'));

  function proposal(p) {
    const resolve = (resolution) => () => call('FileService/ResolveProposal', { space, id: p.id, resolution });
    const after = p.proposed && { ...p.proposed, content: p.proposed.content || p.before };
    return h(
      'div',
      { class: 'card' },
      h(
        'div',
        {},
        h('strong', {}, t(p.reason)),
        ` · ${word('decider', p.proposed_by)} · ${stamp(p.proposed_at)} · `,
        h('button', { class: 'link', onclick: () => show('memories', p.target_id) }, p.target_id),
      ),
      p.decision === 'delete'
        ? h('div', { class: 'diff' }, h('del', {}, p.before))
        : h('div', { class: 'diff' }, differenceOf(p.before, after?.content ?? '')),
      p.replaced_by &&
        h(
          'div',
          {},
          `${t('replacedBy')} `,
          h('button', { class: 'link', onclick: () => show('memories', p.replaced_by) }, p.replaced_by),
        ),
      p.stale && h('p', { class: 'bad' }, t('proposalStale')),
      h(
        'div',
        { class: 'bar' },
        !p.stale && button('accept', resolve(accept), 'primary'),
        button('reject', resolve(reject)),
      ),
    );
  }

  function edit({ edit: e, changes }) {
    const resolve = (resolution) => () => call('FileService/ResolveEdit', { id: e.id, resolution });
    return h(
      'div',
      { class: 'card' },
      h('div', {}, h('strong', {}, e.file), ` · ${t(e.kind)} · ${stamp(e.detected_at)}`),
      h('div', { class: 'pre dim' }, e.details.map(said).join('\n')),
      changesOf({ changes }),
      h(
        'div',
        { class: 'bar' },
        e.kind !== 'refused' && button('accept', resolve(accept), 'primary'),
        button('reject', resolve(reject)),
        h('span', { class: 'dim' }, e.quarantine_path),
      ),
    );
  }

  async function load() {
    const [waiting, found] = await Promise.all([
      callAll('FileService/ListProposals', 'proposals', { space }),
      callAll('FileService/ListEdits', 'edits'),
    ]);
    const full = (
      await Promise.all(
        found.edits.map((e) =>
          callAll('FileService/GetEdit', 'changes', { id: e.id }).catch((error) => {
            if (error.status !== 404) throw error; // else it was decided meanwhile
          }),
        ),
      )
    ).filter(Boolean);
    fill(proposals, waiting.proposals.length ? waiting.proposals.map(proposal) : none());
    fill(list, full.length ? full.map(edit) : none());
  }

  load().catch(fail);
  return { changed: () => load().catch(fail) };
}
