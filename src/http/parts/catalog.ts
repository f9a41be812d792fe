/** What the routes of published and uploaded skills do, and of their configuration. */
import { listObjects, publishCatalog, putBundle } from "../publish.ts";
import { getConfig, putConfig } from "../skills/config.ts";
import { deleteSkill, getUploads, putSkill } from "../uploads.ts";

export const HANDLERS = {
  listObjects,
  putObjects: putBundle,
  publishCatalog,
  getConfig,
  putConfig,
  listUploads: getUploads,
  putSkill,
  deleteSkill,
};
