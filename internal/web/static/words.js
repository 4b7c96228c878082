// The panel's words, English and Chinese.
const words = {
  memories: ['Memories', '记忆'], operations: ['Changes', '变更'], logs: ['Daily logs', '每日日志'], sessions: ['Sessions', '会话'], summary: ['Rolling summary', '滚动摘要'],
  edits: ['To decide', '待定事项'], proposals: ['Proposed changes', '提议的更改'], proposalsHint: ['What was learnt and not done by itself, because it would lose a number, a name, a negation or most of a text, or retire what you saved.', '已学到但未自动执行的内容：执行会丢失数字、名称、否定或大部分文字，或停用你保存的记忆。'], proposalStale: ['The memory has changed since; this can only be discarded.', '该记忆此后已有变化，只能放弃。'], fileEdits: ['Edits of files', '文件的编辑'], file: ['Files', '文件'], state: ['State', '状态'],
  search: ['Search', '搜索'], searchHint: ['Search the memories  ( / )', '搜索记忆  ( / )'], inLogs: ['in the logs too', '也搜日志'], all: ['All categories', '全部分类'], space: ['Space', '空间'],
  active: ['Active', '有效'], superseded: ['Replaced', '已被替代'], retired: ['Forgotten', '已遗忘'],
  created: ['Newest', '最新'], updated: ['Last changed', '最近修改'], salience: ['Importance', '重要性'], access: ['Most used', '使用最多'], order: ['Order', '排序'], status: ['State', '状态'],
  preferences: ['Preferences', '偏好'], facts: ['Facts', '事实'], tasks: ['Tasks', '任务'], reflections: ['Reflections', '反思'], procedural: ['Procedural', '程序'], general: ['General', '通用'],
  createdAt: ['Created', '创建于'], lastAccessed: ['Last found', '最近访问'], forgottenAt: ['Forgotten', '遗忘于'], context: ['Learnt from', '学自'], evidence: ['Evidence', '证据'], tool: ['Tool', '工具'],
  category: ['Category', '分类'], content: ['Content', '内容'], title: ['Title', '标题'], tags: ['Tags', '标签'], source: ['Source', '来源'], confidence: ['Confidence', '可信度'],
  accesses: ['Found', '访问'], times: ['times', '次'], never: ['never', '从未'], important: ['Important', '重要'], pinned: ['Pinned', '已固定'], score: ['Score', '相关度'], why: ['Why this score', '得分的由来'],
  edit: ['Edit', '编辑'], save: ['Save', '保存'], cancel: ['Cancel', '取消'], pin: ['Pin', '固定'], unpin: ['Unpin', '取消固定'], forget: ['Forget', '遗忘'], restore: ['Restore', '恢复'], purge: ['Erase for good…', '彻底清除…'], undo: ['Undo', '撤销'],
  add: ['Add memory', '添加记忆'], history: ['History', '历史'], close: ['Close', '关闭'], accept: ['Accept', '接受'], discard: ['Discard', '放弃'], more: ['More', '更多'], reload: ['Reload', '重新载入'],
  saved: ['Saved.', '已保存。'], forgotten: ['Forgotten.', '已遗忘。'], undone: ['Taken back.', '已撤销。'], nothing: ['Nothing here.', '这里什么也没有。'], noMemories: ['No memories yet. Agents save them as they work, and you can add one.', '还没有记忆。智能体会在工作中保存记忆，你也可以自己添加。'], noOperations: ['No changes yet. Everything that is written shows here, and can be taken back.', '还没有变更。所有写入都会显示在这里，并且可以撤销。'],
  noSessions: ['No sessions yet. `memsidecar install HOST` has a coding agent record them.', '还没有会话。运行 `memsidecar install HOST`，编程智能体就会记录会话。'], noneWaits: ['Nothing waits for you.', '没有等待你处理的事项。'], unfit: ['Nothing fits.', '没有合适的结果。'],
  stale: ['It was changed meanwhile by somebody else. Nothing was saved; this is how it is now.', '其间已被他人修改，未作保存；现在显示的是最新内容。'],
  stalePatch: ['It was changed meanwhile by somebody else. Nothing was saved and your text is still here: copy what you need, then reopen.', '其间已被他人修改。未作保存，你的文字仍在此处：请复制后重新打开。'],
  purgeAsk: ['This erases the memory in every version, and its text wherever else it is kept. It cannot be undone. It would erase:', '这将清除该记忆的所有版本，以及其文字的所有其他留存。此操作无法撤销。将清除：'],
  purged: ['Erased for good.', '已彻底清除。'], undoAsk: ['Take this change back?', '撤销这项变更？'], partly: ['Some of it was changed later and was left alone.', '其中一部分后来又有改动，保持不变。'],
  connected: ['live', '实时'], lost: ['not connected', '未连接'], theme: ['Theme', '主题'], language: ['中文', 'English'],
  unreachable: ['The daemon does not answer, and nothing was done. Start it with `memsidecar start`; when it was started anew, open the panel with `memsidecar ui`.', '守护进程没有响应，未作任何操作。请用 `memsidecar start` 启动；如已重新启动，请用 `memsidecar ui` 打开面板。'],
  doorKept: ['This tab is no longer let in. What you typed is still here: copy what you need, then run `memsidecar ui` in a terminal.', '此标签页已失去访问权限。你输入的内容仍在此处：请复制所需内容，然后在终端运行 `memsidecar ui`。'],
  REVIEW_LOST_NUMBER: ['It would lose a number', '会丢失数字'], REVIEW_LOST_NAME: ['It would lose a name', '会丢失名称'], REVIEW_LOST_NEGATION: ['It would lose a negation', '会丢失否定'], REVIEW_LOST_TEXT: ['It would lose most of the text', '会丢失大部分文字'], REVIEW_USERS_OWN: ['It would retire what you saved', '会停用你保存的记忆'],
  door: ['Run `memsidecar ui` in a terminal: it opens this panel. An address works once, in one browser tab.', '请在终端运行 `memsidecar ui` 打开此面板。每个地址只在一个标签页中有效一次。'],
  entries: ['entries', '条'], entry: ['entry', '条'], archived: ['archived', '已归档'], deleted: ['deleted', '已删除'], messages: ['messages', '条消息'], taught: ['What it taught', '学到的内容'], open: ['open', '进行中'], ended: ['ended', '已结束'], reflected: ['reflected', '已反思'],
  figures: ['Figures', '统计'], byCategory: ['Active memories by category', '各分类的有效记忆'], bySource: ['By source', '按来源'], spaces: ['Spaces', '空间'], latency: ['Time of calls', '调用耗时'], method: ['Method', '方法'], count: ['Count', '次数'], doctor: ['Doctor', '体检'], 
  total: ['Total', '总数'], average: ['Mean importance', '平均重要性'], daemon: ['Daemon', '守护进程'], version: ['Version', '版本'], data: ['Data', '数据目录'], started: ['Started', '启动于'],
  whichFile: ['File', '文件'], logFile: ['Daily log', '每日日志'], day: ['Day', '日期'], problems: ['Problems', '问题'], line: ['line', '第'], column: ['column', '列'], wholeFile: ['The whole file', '整个文件'],
  invalid: ['Would be refused', '将被拒绝'], valid: ['Valid, as saved', '有效，与已保存一致'], validChanged: ['Valid, not saved yet', '有效，尚未保存'], checking: ['Checking…', '检查中…'], wouldWait: ['Could be saved, but would wait for your decision', '可以保存，但会等待你的决定'],
  tooLarge: ['The file is too large for the editor; this is a plain text area.', '文件过大，无法使用编辑器；此处为纯文本框。'], noFile: ['There is no memory.json of this space yet.', '此空间尚无 memory.json。'],
  noLog: ['There is no log of this day.', '这一天没有日志。'], logDeleted: ['The log of this day was archived and deleted; its summary is kept.', '这一天的日志已归档并删除；其摘要仍保留。'], openCalendar: ['Show in the calendar', '在日历中查看'], openFile: ['Open the file', '打开文件'],
  leaveAsk: ['What you typed is not saved. Leave it?', '你输入的内容尚未保存。要离开吗？'], leave: ['Leave', '离开'], stay: ['Stay', '留下'], merge: ['Merge', '合并'],
  months: ['Months', '月份'], jump: ['Go to a date', '跳到日期'], goToday: ['Today', '今天'], yearBefore: ['Year before', '上一年'], monthBefore: ['Month before', '上个月'], monthAfter: ['Month after', '下个月'], yearAfter: ['Year after', '下一年'],
  fewer: ['fewer', '少'], moreEntries: ['more entries', '多'], noEntries: ['no log', '无日志'], daySummary: ['Summary', '摘要'],
  span: ['Time shown', '时间范围'], month: ['30 days', '30 天'], quarter: ['90 days', '90 天'], yearSpan: ['1 year', '1 年'], everything: ['All', '全部'], asTable: ['As a table', '以表格显示'], noFigures: ['Nothing to count yet.', '尚无可统计的内容。'],
  growthPlot: ['Growth of the active memories', '有效记忆的增长'], cameAndWent: ['Memories added and ended', '新增与结束的记忆'], addedDay: ['Added', '新增'], endedDay: ['Replaced or forgotten', '被替代或遗忘'], foundPlot: ['Memories found', '被找到的记忆'], donePlot: ['Changes and log entries', '变更与日志条目'], logEntries: ['Log entries', '日志条目'],
  historySince: ['Changes and accesses are known since', '变更与访问的记录始于'], scaleHint: ['Each third of a bar is a hundred times as long as the one before: 10 µs to 1 ms, to 100 ms, to 10 s.', '条形的每三分之一是前者的一百倍：10 微秒至 1 毫秒、至 100 毫秒、至 10 秒。'],
  doctor_ok: ['All is well.', '一切正常。'], doctor_warn: ['It works; something deserves a look.', '可以工作，但有需要留意之处。'], doctor_fail: ['Something is wrong.', '存在问题。'], level_ok: ['well', '正常'], level_warn: ['look at this', '留意'], level_fail: ['wrong', '有问题'],
  today: ['today', '今天'], fileSaved: ['Saved and taken over.', '已保存并采纳。'], fileWaits: ['Saved, but it waits for a decision: see “To decide”.', '已保存，但需要决定：见“待定事项”。'], fileSame: ['Nothing had to change.', '无需改动。'],
  fileStale: ['The file was changed since it was loaded. Nothing was saved and your text is still here.', '文件在载入后已有变化。未作保存，你的文字仍在此处。'],
  fileMoved: ['The memories have changed since this was loaded.', '载入之后记忆已有变化。'],
  refused: ['cannot be read', '无法读取'], pending: ['not looked at yet', '尚未查看'], ambiguous: ['may be a mistake', '可能有误'], conflict: ['contradicts a later change', '与之后的变更冲突'], decideHint: ['Edits of the files by hand that the daemon did not simply take over.', '守护进程未直接采纳的手工编辑。'],
};

let at = 0;
export function setLanguage(lang) {
  at = lang === 'zh' ? 1 : 0;
  document.documentElement.lang = at ? 'zh' : 'en';
}
export const language = () => (at ? 'zh' : 'en');
export const t = (key) => words[key]?.[at] ?? key;

// entriesOf says how many entries there are.
export const entriesOf = (n) => `${n.toLocaleString(language())} ${n === 1 ? t('entry') : t('entries')}`;

// age says how long ago a time is.
export function age(time) {
  if (!time) return t('never');
  const days = Math.floor((Date.now() - new Date(time)) / 86400000);
  const rtf = new Intl.RelativeTimeFormat(language(), { numeric: 'auto' });
  if (days < 1) return t('today');
  if (days < 14) return rtf.format(-days, 'day');
  if (days < 60) return rtf.format(-Math.round(days / 7), 'week');
  if (days < 700) return rtf.format(-Math.round(days / 30), 'month');
  return rtf.format(-Math.round(days / 365), 'year');
}
export const stamp = (time) => (time ? new Date(time).toLocaleString(language()) : '');
