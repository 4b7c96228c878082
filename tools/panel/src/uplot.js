// The plots of internal/web/static/plots.js.
export { default } from 'uplot';
