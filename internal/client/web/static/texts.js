// The texts of the panel: key, English, Chinese. One thing has one name in all views.
const texts = {
  // Views
  memories: ['Memories', '记忆'],
  changes: ['Changes', '变更'],
  logs: ['Daily logs', '每日日志'],
  sessions: ['Sessions', '会话'],
  summary: ['Rolling summary', '滚动摘要'],
  review: ['To review', '待审核'],
  files: ['Files', '文件'],
  status: ['Status', '状态'],
  // The frame
  space: ['Space', '空间'],
  connected: ['Live', '实时'],
  lost: ['Not connected', '未连接'],
  theme: ['Theme', '主题'],
  language: ['中文', 'English'],
  unreachable: [
    'The daemon does not answer; nothing was changed. Start it with `memsidecar daemon start`. After a restart, open the panel again with `memsidecar ui`.',
    '守护进程没有响应，未作任何更改。请用 `memsidecar daemon start` 启动；重启后请用 `memsidecar ui` 重新打开面板。',
  ],
  loginNeeded: [
    'Run `memsidecar ui` in a terminal to open the panel. Each address works once, in one browser tab.',
    '请在终端运行 `memsidecar ui` 打开面板。每个地址只能在一个浏览器标签页中使用一次。',
  ],
  sessionExpired: [
    'This tab has lost its access. Your text is still here: copy what you need, then run `memsidecar ui` in a terminal.',
    '此标签页的访问权限已失效。你输入的内容仍在这里：请先复制需要的部分，再到终端运行 `memsidecar ui`。',
  ],
  leaveAsk: ['Your text is not saved. Leave anyway?', '你输入的内容尚未保存，仍要离开吗？'],
  leave: ['Leave', '离开'],
  stay: ['Stay', '留下'],
  // Memories: search and filters
  search: ['Search', '搜索'],
  searchHint: ['Search memories  ( / )', '搜索记忆  ( / )'],
  inLogs: ['also in logs', '包括日志'],
  all: ['All categories', '全部分类'],
  active: ['Active', '有效'],
  superseded: ['Replaced', '已替代'],
  retired: ['Forgotten', '已遗忘'],
  order: ['Order', '排序'],
  created: ['Newest', '最新创建'],
  updated: ['Last changed', '最近修改'],
  salience: ['Importance', '重要性'],
  access: ['Most used', '最常使用'],
  preferences: ['Preferences', '偏好'],
  facts: ['Facts', '事实'],
  tasks: ['Tasks', '任务'],
  reflections: ['Reflections', '反思'],
  procedural: ['Procedural', '操作经验'],
  general: ['General', '通用'],
  nothing: ['Nothing here.', '暂无内容。'],
  noMemories: [
    'No memories yet. Agents save them while they work; you can add one here.',
    '还没有记忆。智能体会在工作时保存记忆，你也可以在这里添加。',
  ],
  noMatch: ['No match.', '没有匹配的结果。'],
  add: ['Add memory', '添加记忆'],
  // Memories: one memory
  category: ['Category', '分类'],
  content: ['Content', '内容'],
  title: ['Title', '标题'],
  tags: ['Tags', '标签'],
  source: ['Source', '来源'],
  confidence: ['Confidence', '置信度'],
  accesses: ['Used', '使用'],
  time: ['time', '次'],
  times: ['times', '次'],
  never: ['never', '从未'],
  important: ['Important', '重要'],
  pinned: ['Pinned', '已固定'],
  score: ['Score', '得分'],
  why: ['Why this score', '得分说明'],
  createdAt: ['Created', '创建时间'],
  lastAccessed: ['Last used', '上次使用'],
  forgottenAt: ['Forgotten', '遗忘时间'],
  context: ['Learned from', '学习来源'],
  evidence: ['Evidence', '依据'],
  tool: ['Tool', '工具'],
  history: ['History', '历史'],
  edit: ['Edit', '编辑'],
  save: ['Save', '保存'],
  cancel: ['Cancel', '取消'],
  pin: ['Pin', '固定'],
  unpin: ['Unpin', '取消固定'],
  forget: ['Forget', '遗忘'],
  restore: ['Restore', '恢复'],
  purge: ['Purge…', '彻底清除…'],
  undo: ['Undo', '撤销'],
  close: ['Close', '关闭'],
  more: ['More', '更多'],
  saved: ['Saved.', '已保存。'],
  forgotten: ['Forgotten.', '已遗忘。'],
  purged: ['Purged.', '已彻底清除。'],
  stale: [
    'Somebody else has changed this memory. Nothing was saved; you see the current version.',
    '其他人已修改这条记忆。你的更改未保存，现在显示的是最新版本。',
  ],
  staleForm: [
    'Somebody else has changed this. Nothing was saved and your text is still here: copy what you need, then open it again.',
    '其他人已修改此内容。你的更改未保存，文字仍在这里：请复制需要的部分，然后重新打开。',
  ],
  purgeAsk: [
    'This removes every version of the memory, and its text everywhere else. It cannot be undone. It removes:',
    '将删除这条记忆的所有版本，以及其文字在其他各处的副本。此操作无法撤销。将删除：',
  ],
  place_memory: ['memories', '记忆'],
  place_version: ['older versions', '旧版本'],
  place_log_entry: ['log entries', '日志条目'],
  place_message: ['messages', '会话消息'],
  place_summary: ['summaries', '摘要'],
  place_archived: ['archived summaries', '归档摘要'],
  place_session: ['sessions', '会话'],
  place_receipt: ['write receipts', '写入回执'],
  place_journal: ['journal files', '事务日志文件'],
  place_snapshot: ['snapshots', '快照'],
  place_published: ['published files', '已发布文件'],
  place_quarantine: ['quarantined files', '隔离文件'],
  place_index: ['index files', '索引文件'],
  // Changes
  noChanges: [
    'No changes yet. Every write is listed here and can be undone.',
    '还没有变更。每次写入都会列在这里，并且可以撤销。',
  ],
  undoAsk: ['Undo this change?', '要撤销这项变更吗？'],
  undone: ['Undone.', '已撤销。'],
  partlyUndone: ['Parts that were changed later were left as they are.', '其中后来又有改动的部分保持不变。'],
  actor_client: ['saved by a client', '客户端写入'],
  actor_reflect: ['learned from a session', '从会话学习'],
  actor_consolidate: ['merged with known memories', '与已有记忆合并'],
  actor_archive: ['archived', '日志归档'],
  actor_undo: ['undone', '撤销'],
  actor_adopt: ['adopted', '采纳'],
  actor_session: ['session recorded', '会话记录'],
  actor_daemon: ['daemon', '守护进程'],
  actor_import: ['imported', '导入'],
  actor_edit: ['file edited', '文件编辑'],
  actor_view: ['view edited', '视图编辑'],
  actor_repair: ['repaired', '修复'],
  kind_memory: ['memory', '记忆'],
  kind_entry: ['log entry', '日志条目'],
  kind_day: ['log', '日志'],
  kind_summary: ['rolling summary', '滚动摘要'],
  kind_forgotten: ['forgotten text', '已遗忘的文字'],
  kind_session: ['session', '会话'],
  kind_access: ['use of memory', '记忆使用'],
  kind_archive: ['archived log', '已归档日志'],
  change: ['change', '项改动'],
  changesCount: ['changes', '项改动'],
  // Sessions
  noSessions: [
    'No sessions yet. Run `memsidecar install HOST`; the coding agent then records its sessions.',
    '还没有会话。运行 `memsidecar install HOST` 后，编程智能体会记录会话。',
  ],
  messages: ['messages', '条消息'],
  learned: ['Learned from it', '从中学到'],
  open: ['open', '进行中'],
  ended: ['ended', '已结束'],
  reflected: ['learned', '已学习'],
  role_user: ['user', '用户'],
  role_assistant: ['assistant', '助手'],
  role_system: ['system', '系统'],
  role_tool: ['tool', '工具'],
  role_summary: ['summary', '摘要'],
  role_context: ['context', '上下文'],
  role_working: ['working memory', '工作记忆'],
  // To review
  accept: ['Accept', '接受'],
  reject: ['Reject', '拒绝'],
  proposals: ['Proposals', '建议的更改'],
  proposalsHint: [
    'Learned, but not applied without you: it would lose a number, a name, a negation or most of a text, or retire a memory that you saved.',
    '已学到但需要你确认的更改：它们会丢失数字、名称、否定或大部分文字，或停用你保存的记忆。',
  ],
  proposalStale: ['The memory has changed since; you can only reject this.', '这条记忆之后已有改动，只能拒绝。'],
  fileEdits: ['File edits', '文件编辑'],
  fileEditsHint: ['Edits by hand that the daemon did not accept on its own.', '守护进程未自动接受的手工编辑。'],
  nothingToReview: ['Nothing to review.', '没有待审核的内容。'],
  refused: ['cannot be read', '无法读取'],
  pending: ['not checked yet', '尚未检查'],
  ambiguous: ['may be a mistake', '可能有误'],
  conflict: ['conflicts with a later change', '与之后的变更冲突'],
  REVIEW_LOST_NUMBER: ['It would lose a number', '会丢失数字'],
  REVIEW_LOST_NAME: ['It would lose a name', '会丢失名称'],
  REVIEW_LOST_NEGATION: ['It would lose a negation', '会丢失否定'],
  REVIEW_LOST_TEXT: ['It would lose most of the text', '会丢失大部分文字'],
  REVIEW_LOST_UNIT: ['It would lose a unit or a limit', '会丢失单位或限定'],
  REVIEW_NEW_VALUE: ['It has a value that nobody said', '含有没人说过的值'],
  REVIEW_USERS_OWN: ['It would retire a memory that you or your agent saved', '会停用你或代理保存的记忆'],
  REVIEW_REPLACEMENT: ['A newer memory may replace it', '较新的记忆可能取代它'],
  decider_rules: ['rules', '规则'],
  decider_model: ['model', '模型'],
  // Daily logs
  entries: ['entries', '条'],
  entry: ['entry', '条'],
  archived: ['archived', '已归档'],
  deleted: ['deleted', '已删除'],
  noLog: ['There is no log for this day.', '这一天没有日志。'],
  logDeleted: [
    'The log of this day was archived and deleted; its summary is kept.',
    '这一天的日志已归档并删除，摘要仍然保留。',
  ],
  openCalendar: ['Show in the calendar', '在日历中查看'],
  openFile: ['Open the file', '打开文件'],
  months: ['Months', '月份'],
  jump: ['Go to a date', '跳到日期'],
  today: ['today', '今天'],
  goToday: ['Today', '今天'],
  yearBefore: ['Previous year', '上一年'],
  monthBefore: ['Previous month', '上个月'],
  monthAfter: ['Next month', '下个月'],
  yearAfter: ['Next year', '下一年'],
  fewer: ['fewer', '少'],
  moreEntries: ['more entries', '多'],
  noEntries: ['no log', '无日志'],
  daySummary: ['Summary', '摘要'],
  // Files
  whichFile: ['File', '文件'],
  logFile: ['Daily log', '每日日志'],
  day: ['Day', '日期'],
  problems: ['Problems', '问题'],
  line: ['line', '行'],
  column: ['column', '列'],
  wholeFile: ['The whole file', '整个文件'],
  invalid: ['Would be rejected', '会被拒绝'],
  valid: ['Valid, saved', '有效，已保存'],
  validChanged: ['Valid, not saved', '有效，未保存'],
  checking: ['Checking…', '正在检查…'],
  wouldWait: ['Can be saved, but would wait for your review', '可以保存，但需要你审核'],
  tooLarge: [
    'The file is too large for the editor; this is a plain text field.',
    '文件过大，无法使用编辑器；这里是纯文本框。',
  ],
  noFile: ['This space has no memory.json yet.', '此空间还没有 memory.json。'],
  merge: ['Merge', '合并'],
  reload: ['Reload', '重新载入'],
  fileSaved: ['Saved and accepted.', '已保存并接受。'],
  fileWaits: [
    'Saved, but parts wait for your decision under “To review”.',
    '已保存，但部分内容需要你在“待审核”中决定。',
  ],
  fileSame: ['Nothing to save.', '没有需要保存的改动。'],
  fileStale: [
    'The file was changed after it was loaded. Nothing was saved and your text is still here.',
    '文件载入后已有变化。你的更改未保存，文字仍在这里。',
  ],
  fileMoved: ['The memories have changed since this was loaded.', '载入后记忆已有变化。'],
  // Status
  statistics: ['Statistics', '统计'],
  total: ['Total', '总数'],
  average: ['Mean importance', '平均重要性'],
  byCategory: ['Active memories by category', '各分类的有效记忆'],
  bySource: ['By source', '按来源'],
  spaces: ['Spaces', '空间'],
  latency: ['Duration of calls', '调用耗时'],
  method: ['Method', '方法'],
  count: ['Count', '次数'],
  doctor: ['Doctor', '体检'],
  doctor_ok: ['All checks passed.', '全部检查通过。'],
  doctor_warn: ['It works, but something needs attention.', '可以工作，但有需要留意之处。'],
  doctor_fail: ['Something is broken.', '存在故障。'],
  level_ok: ['passed', '通过'],
  level_warn: ['warning', '警告'],
  level_fail: ['failed', '失败'],
  daemon: ['Daemon', '守护进程'],
  version: ['Version', '版本'],
  data: ['Data directory', '数据目录'],
  started: ['Started', '启动时间'],
  timeSpan: ['Period', '时间范围'],
  month: ['30 days', '30 天'],
  quarter: ['90 days', '90 天'],
  yearSpan: ['1 year', '1 年'],
  everything: ['All', '全部'],
  asTable: ['As a table', '以表格显示'],
  noUsage: ['Nothing to count yet.', '还没有可统计的内容。'],
  growthPlot: ['Active memories', '有效记忆'],
  cameAndWent: ['Memories added and removed', '新增与移除的记忆'],
  addedDay: ['Added', '新增'],
  removedDay: ['Replaced or forgotten', '被替代或遗忘'],
  usedPlot: ['Uses of memories', '记忆使用次数'],
  donePlot: ['Changes and log entries', '变更与日志条目'],
  logEntries: ['Log entries', '日志条目'],
  historySince: ['Changes and uses are known since', '变更与使用记录始于'],
  scaleHint: [
    'The scale of the bars is logarithmic: each third is a factor of 100 (10 µs, 1 ms, 100 ms, 10 s).',
    '条形采用对数刻度：每三分之一为 100 倍（10 微秒、1 毫秒、100 毫秒、10 秒）。',
  ],
};

let at = 0; // index of the language in texts

// setLanguage takes en or zh.
export function setLanguage(lang) {
  at = lang === 'zh' ? 1 : 0;
  document.documentElement.lang = at ? 'zh' : 'en';
}
export const language = () => (at ? 'zh' : 'en');

// t is the text of a key; a key without one is returned as it is, such as a category that a user invented.
export const t = (key) => texts[key]?.[at] ?? key;

// word is the text of a value of an enum of the API.
export const word = (kind, value) => texts[`${kind}_${value}`]?.[at] ?? value;

// entriesOf is a number of entries, as text.
export const entriesOf = (n) => `${n.toLocaleString(language())} ${n === 1 ? t('entry') : t('entries')}`;

// timesOf is a number of uses, as text.
export const timesOf = (n) => `${n.toLocaleString(language())} ${n === 1 ? t('time') : t('times')}`;

// age is the time since a date, in words.
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

// stamp is a date and time in the language of the panel.
export const stamp = (time) => (time ? new Date(time).toLocaleString(language()) : '');
